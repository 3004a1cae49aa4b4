"""The kernel's own plugin: mechanical defaults, registered like any other and always last."""

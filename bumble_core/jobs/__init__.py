"""Background cognition: what is due, and running it beside the conversation."""

"""What a plugin author needs to test a plugin."""

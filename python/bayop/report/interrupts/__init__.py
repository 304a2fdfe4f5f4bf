"""What interrupt logs show."""

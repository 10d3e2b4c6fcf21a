"""What an anonymous visitor may see."""

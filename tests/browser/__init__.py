"""What a real browser makes of what gpudoctor writes."""

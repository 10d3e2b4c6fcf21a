"""What people at a terminal, and programs, are told of publications: by the plug-in, the commands and the bridge."""

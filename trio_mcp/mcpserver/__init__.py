"""The pleasant way to write a server: functions become tools, resources and prompts."""

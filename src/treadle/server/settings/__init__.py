"""The settings page's API: settings, keys of providers, tool sources, a user's data, and users."""

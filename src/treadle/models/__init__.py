"""Models: provider APIs, local models, tool calling without native support, and the scripted and recorded models for tests."""

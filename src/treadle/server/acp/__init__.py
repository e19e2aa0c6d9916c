"""An assistant in an editor, over the Agent Client Protocol: `serve_acp` over stdio.

A session is a durable run, a prompt is a turn of it, and a permission is an approval. The SDK is imported only by these modules.
"""

MULTI_TURN_FUNC_DOC_FILE_MAPPING = {"Shelf": "shelf.json"}

"""The previous publication: searched for by the setting `previous`, fetched, verified, and saved as last seen live."""

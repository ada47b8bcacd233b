{plugin}

"""Tests of uploads to a bucket: a real S3 server on loopback, real publications, real readers."""

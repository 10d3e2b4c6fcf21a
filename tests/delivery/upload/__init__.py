"""Tests of uploads to a bucket: a real S3 store on loopback, real publications, real readers."""

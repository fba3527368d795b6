/** Backup locations on the command line. Source: behaviour platform.md 9 (offline). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readPlace } from './backup-location.ts'

const keys = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE00000', AWS_SECRET_ACCESS_KEY: 'a-secret' }
// A location is a union of kinds; the assertions show which kind it is.
const placeOf = (text: string, env: object = {}): any => readPlace(text, { ...keys, ...env }, '/srv').place

test('a text without a scheme is a folder, relative to the working directory', () => {
  assert.deepEqual(placeOf('backups'), { kind: 'cluster', clusterExtId: '/srv/backups' })
  assert.equal(readPlace('/mnt/b', {}, '/srv').name, 'the folder /mnt/b/hyperplane-backups')
})

test('a bucket without an endpoint is an Amazon bucket in its region', () => {
  const { endpoint, port, style, region } = placeOf('s3://backups?region=eu-west-1')
  assert.deepEqual([endpoint, port, style, region], ['s3.eu-west-1.amazonaws.com', 443, 'host', 'eu-west-1'])
  assert.equal(placeOf('s3://backups').region, 'us-east-1')
  assert.equal(placeOf('s3://backups', { AWS_DEFAULT_REGION: 'eu-north-1' }).region, 'eu-north-1')
  assert.equal(placeOf('s3://dotted.name').style, 'path')
})

test('an endpoint names host and port; the argument wins over the environment', () => {
  const env = { AWS_ENDPOINT_URL: 'https://elsewhere.example' }
  const { endpoint, port, style } = placeOf('s3://backups/?endpoint=https://s3.example.com:9000', env)
  assert.deepEqual([endpoint, port, style], ['s3.example.com', 9000, 'path'])
  assert.equal(placeOf('s3://backups', env).endpoint, 'elsewhere.example')
  assert.equal(placeOf('s3://backups?endpoint=https://[fd00::1]:9000').endpoint, 'fd00::1')
})

test('a malformed location is refused with the expected form, and its text is not repeated', () => {
  for (const text of [
    's3://AKID:hidden@backups',
    's3://backups:9000',
    's3://backups?endpoint=http://s3.example.com',
    's3://backups?endpoint=https://hidden:hidden@s3.example.com',
    's3://backups?endpoint=s3.example.com',
    's3://backups?secret=hidden',
    's3://backups?region=hidden/x',
    's3://hidden_name',
    'https://hidden.example/backups',
  ])
    assert.throws(
      () => placeOf(text),
      ({ message }: Error) => /expected s3:\/\/BUCKET/.test(message) && !/hidden/.test(message),
      text,
    )
})

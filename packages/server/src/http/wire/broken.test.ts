import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultOf } from './broken.ts'

test('a request that arrives too slowly is 408; a head that is too large is 414 or 431', () => {
  const statusOf = (code: string, rawPacket?: string): number =>
    faultOf(
      Object.assign(new Error(code), {
        code,
        ...(rawPacket === undefined ? {} : { rawPacket: Buffer.from(rawPacket) }),
      }),
    ).status
  assert.equal(statusOf('ERR_HTTP_REQUEST_TIMEOUT'), 408)
  assert.equal(statusOf('HPE_HEADER_OVERFLOW', `GET /${'a'.repeat(50_000)}`), 414)
  assert.equal(statusOf('HPE_HEADER_OVERFLOW', `GET / HTTP/1.1\r\nX: ${'a'.repeat(50_000)}`), 431)
  // A chunk from the middle of a head may be of the target or of a header.
  assert.equal(statusOf('HPE_HEADER_OVERFLOW', 'a'.repeat(50_000)), 431)
  assert.equal(statusOf('HPE_HEADER_OVERFLOW'), 431)
  assert.equal(statusOf('HPE_SOMETHING_NEW'), 400)
})

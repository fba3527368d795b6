/** Buckets of real S3-compatible services, through s3mini. Source: behaviour platform.md 7, 8; decision s3-client. */
import { createHash } from 'node:crypto'
import { type ObjectStore, ObjectStoreError } from '../object-store.ts'
import { createCall, onePutBytes } from './call.ts'
import type { TransportOptions } from './transport.ts'

export function createS3ObjectStore(options: TransportOptions): ObjectStore {
  const call = createCall(options)
  return {
    list: (place, prefix) =>
      call(place, async (client) => {
        const found = await client.listObjects('/', prefix)
        // A list is not found only if the bucket does not exist.
        if (found === null) throw new ObjectStoreError('noSuchBucket', 'there is no such bucket')
        return found
          .map(({ Key, Size, LastModified }) => ({
            key: Key,
            sizeBytes: Number(Size),
            modifiedTime: new Date(LastModified).getTime(),
          }))
          .sort((a, b) => (a.key < b.key ? -1 : 1))
      }),
    get: (place, key) =>
      call(place, async (client) => {
        const content = await client.getObjectArrayBuffer(key)
        if (content === null) throw new ObjectStoreError('noSuchObject', `there is no object ${key}`)
        return new Uint8Array(content)
      }),
    put: (place, key, content) =>
      call(place, async (client) => {
        const type = 'application/octet-stream'
        if (content.byteLength > onePutBytes) await client.putAnyObject(key, content as Uint8Array<ArrayBuffer>, type)
        else {
          // The service verifies the content against this checksum, which the signature covers.
          const checksum = createHash('sha256').update(content).digest('base64')
          const headers = { 'x-amz-checksum-sha256': checksum } as const
          await client.putObject(key, content as Uint8Array<ArrayBuffer>, type, undefined, headers)
        }
      }),
    remove: (place, key) => call(place, async (client) => void (await client.deleteObject(key))),
  }
}

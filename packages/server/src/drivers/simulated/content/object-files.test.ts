import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { DriverError } from '../../../core/tasks/define-task.ts'
import { createObjectFiles } from './object-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-object-files-'))
const content = join(folder, 'content')
after(() => rmSync(folder, { recursive: true, force: true }))

let reads = 0
const files = (sizeBytes: number) =>
  createObjectFiles({
    folder,
    move: async () => undefined,
    store: {
      look: async () => ({ sizeBytes, version: 'one' }),
      async read(_object, _version, { first, last }) {
        reads++
        return new Uint8Array(last - first + 1)
      },
    },
  })
const fetched = (sizeBytes: number, report = async (): Promise<void> => undefined) =>
  files(sizeBytes).fetch(
    'image/cluster',
    { kind: 'object', bucket: 'vmm-images', key: 'x' },
    { bytesPerSecond: async () => undefined, report, stopping: new AbortController().signal },
  )

test('an object for which the disk has no room is refused before its first part is read', async () => {
  const isFinal = (error: unknown): boolean =>
    error instanceof DriverError && !error.retryable && /no room/.test(error.message)
  await assert.rejects(fetched(2 ** 52), isFinal)
  assert.deepEqual([reads, readdirSync(content)], [0, []])
})

test('a disk that is full while an object is read gets its room back, and the task may try again', async () => {
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  await assert.rejects(
    fetched(100, () => Promise.reject(full)),
    full,
  )
  assert.deepEqual([reads, readdirSync(content)], [1, []])
  assert.equal((await fetched(100)).sizeBytes, 100)
  assert.deepEqual(readdirSync(content), ['image.cluster'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Restores } from '../core/ports.ts'
import { requireReadable } from './faults.ts'
import type { Manifest } from './format.ts'

const manifest = (productVersion: string, parts = 1) =>
  ({ productVersion, parts: Array.from({ length: parts }, () => ({})) }) as unknown as Manifest
const here = (free: number, version = '1.2.3') => ({
  version,
  restores: { freeBytes: async () => free } as unknown as Restores,
})

test('a backup of this version or an earlier one is read, a later one is not', async () => {
  for (const version of ['1.2.3', '1.2.2', '1.1.9', '0.9.10']) await requireReadable(here(1e9), manifest(version))
  for (const version of ['1.2.4', '1.10.0', '2.0.0'])
    await assert.rejects(requireReadable(here(1e9), manifest(version)), new RegExp(`version ${version}.*newer`))
})

test('a backup that does not fit is refused with the numbers of free and needed bytes', async () => {
  await assert.rejects(requireReadable(here(1e6), manifest('1.2.3', 10)), /1000000 bytes free, \d+ may be needed/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '@hyperplane/client'
import { RemoteFault } from '../remote-managers.ts'
import { peerNetworks } from './peer-networks.ts'

test('a manager whose list of subnets never ends is refused', async () => {
  let pages = 0
  const endless = {
    networking: { listSubnets: async () => ({ data: Array.from({ length: 100 }, () => ({ page: ++pages })) }) },
  } as unknown as Client
  await assert.rejects(
    async () => peerNetworks.subnets(endless, 'peer.example'),
    (error) => error instanceof RemoteFault && /^peer.example shows more than 10000/.test(error.message),
  )
  assert.equal(pages, 10_000)
})

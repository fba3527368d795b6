/** The address manager under any mix of takes and releases. Source: behaviour networking.md 1.3, 3.5 (invariants 1 to 3). */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { drawsFrom } from '../../../src/core/ids/draws.ts'
import {
  addressOfLease,
  leaseAddress,
  leaseExactly,
  leasesOf,
  release,
  releaseHolder,
} from '../../../src/domains/addressing/leases.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aSubnet, recount, usageOf } from '../../support/subnets.ts'

let app: TestApp
before(async () => {
  app = await startApp({ unchecked: 'leases are held by ids of no entity' })
})
after(() => app.close())

const base = 0x0a140000n

test('the lowest free address is always assigned, and runs and counters match the leases', async () => {
  const path = await aSubnet(app, { ipv4: '10.20.0.0/24', pools: [['10.20.0.10', '10.20.0.49']] })
  const draw = drawsFrom('mix of takes and releases')
  const held = new Map<number, string>()
  for (let round = 0; round < 20; round++) {
    await app.store.transaction(async (store) => {
      const subnet = (await store.get(Subnet, path.slice(-36)))!
      const ctx = { store, ids: { uuid: () => crypto.randomUUID() }, clock: app.clock }
      for (let step = 0; step < 25; step++) {
        const holder = crypto.randomUUID()
        const kind = draw() < 0.5 ? 'ASSIGNED' : 'FLOATING'
        const chosen = [...held.keys()][Math.floor(draw() * held.size)]
        const what = draw()
        if (what < 0.45 && held.size < 40) {
          const lowest = Array.from({ length: 40 }, (_, index) => index + 10).find((host) => !held.has(host))
          if (lowest === undefined) continue
          const taken = await leaseAddress(ctx, subnet, { kind, holder })
          assert.equal(taken.value, base + BigInt(lowest))
          held.set(lowest, holder)
        } else if (what < 0.6) {
          const host = 2 + Math.floor(draw() * 250)
          const address = { family: 'IPV4', value: base + BigInt(host) } as const
          const taking = leaseExactly(ctx, subnet, [address], { kind, holder }, () => 'address')
          if (held.has(host)) await assert.rejects(taking, { key: 'IP_ADDRESS_UNAVAILABLE' })
          else await taking.then(() => held.set(host, holder))
        } else if (chosen !== undefined) {
          const mine = held.get(chosen)!
          const leases = await leasesOf(store, mine)
          assert.deepEqual(leases.map(addressOfLease), [{ family: 'IPV4', value: base + BigInt(chosen) }])
          if (draw() < 0.5) await release(store, leases)
          else await releaseHolder(store, mine)
          held.delete(chosen)
        }
      }
    })
    await recount(app)
    const inPool = [...held.keys()].filter((host) => host >= 10 && host < 50).length
    const usage = await usageOf(app, path)
    assert.deepEqual([usage.numFreeIPs, usage.numAssignedIPs], [40 - inPool, held.size])
  }
})

/** Ids of the demo's clusters, and how tests reach below the interface of clustermgmt. */

import { randomUUID } from 'node:crypto'
import { seedId } from '../../src/core/ids/named-id.ts'
import type { HardwareFault } from '../../src/drivers/simulated/hardware.ts'
import type { CallResult, TestApp } from './start-app.ts'

export const clustermgmt = '/clustermgmt/v4.2/config'

export const ids = {
  native: seedId('cluster/hp-native-01'),
  extern: seedId('cluster/hp-extern-01'),
  cloud: seedId('cluster/cloud-1'),
  manager: seedId('manager'),
  baseline: seedId('cluster-profile/baseline'),
} as const

export const hostId = (name: string): string => seedId(`host/${name}`)
export const requestId = (): string => randomUUID()

/** Makes something wrong with a cluster or a host; nothing: it is well again. */
export async function setFault(app: TestApp, id: string, fault: HardwareFault = {}): Promise<void> {
  await app.world.collection<HardwareFault>('hardware.faults').put(id, fault)
}

/** Moves the world's time on and waits until the monitors that it woke have written what they found. */
export async function advance(app: TestApp, minutes: number): Promise<void> {
  await app.clock.advance(minutes * 60_000)
  // A monitor writes in one transaction an entity, one after the other; each turn here lets one of them pass.
  for (let turn = 0; turn < 50; turn++) await app.store.transaction(async () => undefined)
}

/** PUT with the tag that a GET of the same path answers. */
export async function putFresh(app: TestApp, path: string, body: unknown): Promise<CallResult> {
  const { etag } = await app.call('GET', path)
  return app.call('PUT', path, { body, ifMatch: etag as string, requestId: requestId() })
}

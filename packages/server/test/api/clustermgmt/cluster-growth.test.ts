/** Statistics and restarts around an expansion. Source: behaviour clustermgmt.md 5 (10, 11). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeId } from '../../kinds/clustermgmt/unconfigured-node.ts'
import { clustermgmt, ids } from '../../support/clustermgmt.ts'
import { driven, reached } from '../../support/driven.ts'
import { aFault } from '../../support/faults.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

const cluster = `${clustermgmt}/clusters/${ids.native}`
const ask = (app: TestApp, action: string, body: object): Promise<CallResult> =>
  app.call('POST', `${cluster}/$actions/${action}`, { body, requestId: randomUUID() })
const expand = (app: TestApp): Promise<CallResult> =>
  ask(app, 'expand-cluster', { nodeParams: { nodeList: [{ nodeUuid: nodeId('a') }] } })
const numberOfNodes = async (app: TestApp): Promise<number> => (await app.call('GET', cluster)).data.nodes.numberOfNodes
async function isDiscoverable(app: TestApp): Promise<boolean> {
  const task = await driven(app, app.task(await ask(app, 'discover-unconfigured-nodes', {})))
  const path = `${clustermgmt}/task-response/${task.extId.split(':').at(-1)}?taskResponseType=UNCONFIGURED_NODES`
  return (await app.call('GET', path)).data.response.nodeList.some(({ nodeUuid }: any) => nodeUuid === nodeId('a'))
}

test('10. after an expansion, new samples show a higher storage capacity', async () => {
  const app = await startApp()
  try {
    const newest = async (): Promise<number> => {
      const [start, end] = [app.clock.now() - 60_000, app.clock.now()].map((time) => new Date(time).toISOString())
      const query = `$startTime=${start}&$endTime=${end}&$select=storageCapacityBytes`
      const { data } = await app.call('GET', `/clustermgmt/v4.2/stats/clusters/${ids.native}?${query}`)
      return data.storageCapacityBytes.at(-1).value
    }
    const before = await newest()
    assert.equal((await app.task(await expand(app))).status, 'SUCCEEDED')
    await app.clock.advance(60_000)
    const { data: disks } = await app.call('GET', `${clustermgmt}/disks?$limit=100`)
    const added = disks
      .filter(({ nodeExtId }: any) => nodeExtId === nodeId('a'))
      .reduce((sum: number, { physicalCapacityBytes }: any) => sum + physicalCapacityBytes, 0)
    assert.ok(added > 0)
    assert.equal(await newest(), before + added)
  } finally {
    await app.close()
  }
})

for (const [outcome, canJoin] of [
  ['has the node when its task succeeds', true],
  ['leaves the node discoverable when its task fails', false],
] as const)
  test(`11. an expansion that a stop of the service interrupted ${outcome} after the restart`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hyperplane-expansion-'))
    const config = { durations: 'natural' } as const
    const first = await startApp({ folder, config })
    const started = await expand(first)
    await reached(first, started, 10)
    await first.close()
    const second = await startApp({ folder, config })
    try {
      const final = { error: 'CONFLICT', arguments: { fault: 'The node did not join.' } }
      if (!canJoin) await aFault(second, { driverCall: { driver: 'hardware', method: 'joinNode' } }, final)
      const { status, errorMessages } = await driven(second, second.task(started))
      assert.equal(status, canJoin ? 'SUCCEEDED' : 'FAILED', JSON.stringify(errorMessages))
      assert.deepEqual([await numberOfNodes(second), await isDiscoverable(second)], canJoin ? [5, false] : [4, true])
      await checkInvariants(second)
    } finally {
      await second.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })

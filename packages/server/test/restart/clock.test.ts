/** The service dies while a clock is moved by hand: what had come by then has happened, the rest is still to come. Source: reference world-events.md; decision time-that-is-moved. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { events, happen } from '../support/events.ts'
import { http } from '../support/http.ts'
import { checkInvariants } from '../support/invariants.ts'
import { beginning, startApp, type TestApp } from '../support/start-app.ts'
import { Victims } from './victims.ts'

const minute = 60_000
const clock = '/control/v1/worlds/default/clock'

let folder: string
const victims = new Victims()
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hyperplane-clock-'))
  const app = await startApp({ folder })
  const [{ host }] = (await app.call('GET', "/vmm/v4.2/ahv/config/vms?$filter=name eq 'web-01'")).data
  await happen(app, { type: 'GUEST_CRASHES', vm: 'web-01' }, { after: 'PT10M' })
  // A minute later its VMs are restarted elsewhere, each by a task: there the service ends.
  await happen(app, { type: 'HOST_FAILS', host: host.extId }, { after: 'PT20M', duration: 'PT20M' })
  await happen(app, { type: 'GUEST_CRASHES', vm: 'web-01' }, { after: 'PT50M' })
  await app.close()
})
after(async () => {
  await victims.end()
  rmSync(folder, { recursive: true, force: true })
})

/** The oldest first: what each is, and whether it has been. */
const history = async (app: TestApp): Promise<string[]> =>
  (await app.call('GET', `${events}?$orderby=startTime`)).data.map((event: any) => `${event.type} ${event.status}`)
const restarts = async (app: TestApp): Promise<any[]> =>
  (await app.call('GET', `/platform/v4.3/config/tasks?$filter=operation eq 'VmHaRestart'&$limit=100`)).data

test('an interrupted advance ends at the border of an event, and the next advance does the rest', async () => {
  const kill = { definition: 'vmm.restart-vm-elsewhere', step: 'start', phase: 'run' } as const
  const victim = await victims.start({ folder, startAt: beginning, kill })
  const advance = http(victim.url, `${clock}/$actions/advance`, { method: 'POST', body: '{"duration":"PT1H"}' })
  await assert.rejects(advance)
  await victim.mustDie()

  const app = await startApp({ folder, startAt: beginning })
  try {
    const { mode, time } = (await app.call('GET', clock)).data
    assert.equal(mode, 'frozen')
    const [task] = await restarts(app)
    assert.equal(time, task.createdTime, 'it stands where something happened, not on the way to something else')
    assert.deepEqual(await history(app), ['GUEST_CRASHES OVER', 'HOST_FAILS LASTING', 'GUEST_CRASHES SCHEDULED'])

    const left = beginning + 60 * minute - Date.parse(time)
    const { data } = await app.call('POST', `${clock}/$actions/advance`, { body: { duration: `PT${left / 1000}S` } })
    assert.equal(Date.parse(data.clock.time), beginning + 60 * minute)
    assert.deepEqual(await history(app), ['GUEST_CRASHES OVER', 'HOST_FAILS OVER', 'GUEST_CRASHES OVER'])
    for (const { status } of await restarts(app)) assert.equal(status, 'SUCCEEDED')
    await checkInvariants(app)
  } finally {
    await app.close()
  }
})

/**
 * A batch of 500 whose service is killed in the middle, twice: each element has run once when it is done, and the results
 * are as exact as without. Source: behaviour platform.md 3 (restart); conventions 20, 25.33.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { http } from '../support/http.ts'
import { checkInvariants } from '../support/invariants.ts'
import { beginning, startApp } from '../support/start-app.ts'
import { clusterId, groups } from '../support/volumes.ts'
import { sendOver } from './killing.ts'
import { Victims } from './victims.ts'

const size = 500
const batches = '/platform/v4.3/operations/batches'
const tasks = '/platform/v4.3/config/tasks'
const categories = '/platform/v4.3/config/categories'
const vms = '/vmm/v4.2/ahv/config/vms'

let parent: string
const victims = new Victims()
before(() => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-batches-'))
})
after(async () => {
  await victims.end()
  rmSync(parent, { recursive: true, force: true })
})

const stories = [
  {
    what: 'elements that are done at once',
    chunkSize: 20,
    path: categories,
    elements: (index: number) => ({ key: 'Killed', value: `v${index}` }),
    filter: "key eq 'Killed'",
    parts: 0,
  },
  {
    what: 'elements that run as tasks',
    chunkSize: 20,
    path: groups,
    elements: (index: number) => ({ name: `killed-${index}`, clusterReference: clusterId }),
    filter: "startswith(name,'killed-')",
    parts: size,
  },
  {
    what: 'elements whose tasks follow one another and share commits',
    chunkSize: 1,
    path: vms,
    elements: (index: number) => ({ name: `killed-${index}`, cluster: { extId: clusterId }, memorySizeBytes: 2 ** 28 }),
    filter: "startswith(name,'killed-')",
    parts: size,
  },
]

for (const { what, chunkSize, path, elements, filter, parts } of stories) {
  test(`a batch of 500, killed after a fifth and after a half of it, makes 500 in the end: ${what}`, async () => {
    const folder = mkdtempSync(join(parent, 'world-'))
    await (await startApp({ folder })).close()
    const metadata = { action: 'CREATE', name: 'killed', uri: `/api${path}`, chunkSize }
    const payload = Array.from({ length: size }, (_, index) => ({ data: elements(index) }))
    const asked = { method: 'POST', path: '/platform/v4.3/operations/$actions/batch', body: { metadata, payload } }
    let extId = ''
    for (const enough of [size / 5, size / 2]) {
      const victim = await victims.start({ folder, startAt: beginning, isUnwatched: true })
      if (extId === '') extId = (await sendOver(victim.url, asked, randomUUID())).json.data.extId
      const successes = async (): Promise<number> =>
        (await http(victim.url, `/api${batches}/${extId}`)).json.data.successCount
      while ((await successes()) < enough);
      victim.kill()
      assert.equal(await victim.dead, 'SIGKILL')
    }

    const app = await startApp({ folder })
    try {
      const { successCount } = (await app.call('GET', `${batches}/${extId}`)).data
      assert.ok(successCount >= size / 2, 'what was done is not forgotten')
      const task = await app.task(extId)
      assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
      assert.deepEqual(task.batchSummary, { numberOfJobs: size, numberOfJobsSuccessful: size, numberOfJobsFailed: 0 })
      assert.deepEqual([task.numberOfSubtasks, (task.subTasks ?? []).length], [parts, Math.min(parts, 100)])
      const made = await app.call('GET', `${path}?$filter=${encodeURIComponent(filter)}&$limit=1`)
      assert.equal(made.total, size)
      const pages = await Promise.all(
        [0, 1, 2, 3, 4].map((page) => app.call('GET', `${tasks}/${extId}/jobs?$limit=100&$page=${page}`)),
      )
      const jobs: any[] = pages.flatMap(({ data }) => data)
      assert.deepEqual(
        jobs.map(({ name, status }) => `${name} ${status}`),
        payload.map((_, index) => `${index} SUCCEEDED`),
      )
      assert.equal(new Set(jobs.map((job) => job.entitiesAffected[0].extId)).size, size)
      await checkInvariants(app)
    } finally {
      await app.close()
    }
  })
}

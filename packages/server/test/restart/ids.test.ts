/** Ids that a service gave out are never given out again, however often it is killed. Source: conventions 3, 18.3. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { nativeCluster } from '../kinds/kind.ts'
import { startApp } from '../support/start-app.ts'
import { ServiceInProcess } from './walks/service.ts'

const categories = '/platform/v4.3/config/categories'
const groups = '/volumes/v4.2/config/volume-groups'
const tasks = '/platform/v4.3/config/tasks'

let parent: string
let seeded: string
before(async () => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-ids-'))
  seeded = join(parent, 'seeded')
  const app = await startApp({ folder: seeded })
  await app.close()
})
after(() => rmSync(parent, { recursive: true, force: true }))

test('a service that is killed right after a commit gives out no id again', async (t) => {
  const service = await ServiceInProcess.start(seeded, parent, {})
  t.after(() => service.end())
  const given: string[] = []
  const call = async (method: string, path: string, body?: object): Promise<any> => {
    const heard = await service.call(method, path, body === undefined ? {} : { body, requestId: randomUUID() })
    assert.ok(heard !== 'nothing' && heard.status < 300, JSON.stringify(heard))
    return heard.data
  }
  for (let start = 1; start <= 3; start++) {
    given.push((await call('POST', categories, { key: 'start', value: String(start) })).extId)
    const task = await call('POST', groups, { name: `start-${start}`, clusterReference: nativeCluster })
    given.push(task.extId)
    await service.die(0)
    await service.rest()
    const { entitiesAffected } = await call('GET', `${tasks}/${task.extId}`)
    given.push(entitiesAffected[0].extId)
  }
  assert.equal(new Set(given).size, 9, String(given))
  assert.equal((await call('GET', `${groups}?$filter=startswith(name, 'start-')`)).length, 3)
})

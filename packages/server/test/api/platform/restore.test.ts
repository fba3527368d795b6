/** Restores over the interface, in process. Source: behaviour platform.md 9; 14, statements 29 to 31 and 33. */

import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { contract, type Operation } from '@hyperplane/contract'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { seedId } from '../../../src/core/ids/named-id.ts'
import {
  bucketFiles,
  bucketTarget,
  inBucket,
  made,
  ownManager,
  pass,
  pointsAt,
  targets,
} from '../../support/backups.ts'
import { http } from '../../support/http.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { assertKept, assertUnknown, type Keepsakes, leaveKeepsakes } from '../../support/keepsakes.ts'
import {
  type Backup,
  backupOf,
  endOf,
  foundIn,
  freshBeside,
  remoteCluster,
  restoreBody,
  startRestore,
} from '../../support/restoring.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

/** For lists of what is in the cloud. */
const clusterId = seedId('cluster/cloud-1')
const categories = '/platform/v4.3/config/categories'

let original: TestApp
let backup: Backup
let keepsakes: Keepsakes

before(async () => {
  original = await startApp()
  keepsakes = await leaveKeepsakes(original)
  await made(original, inBucket())
  // The next run holds the target itself.
  await pass(original, 60)
  backup = await backupOf(original)
})
after(() => original.close())

/** For one test. */
async function withFresh(work: (app: TestApp) => Promise<void>, settings?: Parameters<typeof freshBeside>[1]) {
  const app = await freshBeside(backup, { startAt: original.clock.now(), ...settings })
  try {
    await work(app)
  } finally {
    await app.close()
  }
}

const versioned = ({ namespace, versions, path }: Operation): string => `/${namespace}/${versions[0]}${path}`

/** Each sealing is another, and no answer shows one; looking on is a sign-in, here and there. */
const shown = (data: unknown): unknown =>
  JSON.parse(JSON.stringify(data), (name, value) => {
    if (name === '$sealed') return 'sealed'
    return name === 'lastLoginTime' ? undefined : value
  })

/** All that lists show, and the first entities of each by themselves. */
async function everything(app: TestApp): Promise<Map<string, unknown>> {
  const seen = new Map<string, unknown>()
  const operations = contract.flatMap((namespace) => namespace.operations)
  const lists = operations.filter(({ verb, path }) => verb === 'list' && !/[{]|\/stats\//.test(path))
  for (const list of lists) {
    const path = versioned(list)
    const kind = list.resource?.kind
    // Of the backup itself, and of the restore.
    if (kind === 'Task' || kind === 'AuditRecord') continue
    const found = await app.call('GET', path, { clusterId })
    if (found.status === 501) continue
    assert.equal(found.status, 200, `${path}: ${JSON.stringify(found.errors)}`)
    seen.set(path, shown(found.data))
    const get = operations.find(
      (each) =>
        each.verb === 'get' && each.resource?.kind === kind && each.path.replace(/\/\{[^{}/]+\}$/, '') === list.path,
    )
    if (get === undefined) continue
    for (const { extId } of found.data.slice(0, 5)) {
      const one = await app.call('GET', `${path}/${extId}`, { clusterId })
      if (one.status !== 501) seen.set(`${path}/${extId}`, { status: one.status, data: shown(one.data) })
    }
  }
  return seen
}

test('a fresh instance with the backup key becomes the manager of the restore point: every GET of every kind is equal', async () => {
  await withFresh(async (app) => {
    const expected = await everything(original)
    const task = await endOf(app, await startRestore(app, backup))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    assert.equal(task.operation, 'kPcRecovery')
    assert.deepEqual(
      task.entitiesAffected.map(({ rel }: any) => rel),
      ['platform:config:domain_manager', 'clustermgmt:config:cluster'],
    )
    assert.equal(task.subTasks.length, 4)
    const found = await everything(app)
    assert.ok(found.size > 50)
    assert.deepEqual([...found.keys()], [...expected.keys()])
    for (const [path, data] of expected) assert.deepEqual(found.get(path), data, path)
    await assertKept(app, keepsakes)
    await checkInvariants(app)
  })
})

test('a fresh instance restores the newest restore point from a cluster that it reaches by its address', async () => {
  const onIt = await backupOf(original, remoteCluster)
  assert.notEqual(onIt.restorePointExtId, seedId('restore-point/own'), 'one that was written after the seed')
  await withFresh(async (app) => {
    await assertUnknown(app, keepsakes)
    assert.equal((await app.call('GET', '/clustermgmt/v4.2/config/clusters')).data.some(runsVms), false)
    const task = await endOf(app, await startRestore(app, onIt))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    await assertKept(app, keepsakes)
    assert.equal((await app.call('GET', '/clustermgmt/v4.2/config/clusters')).data.some(runsVms), true)
    await checkInvariants(app)
  })
})

test('after a restore earlier entity tags are stale, and backup targets stay paused until an administrator resumes them', async () => {
  await withFresh(async (app) => {
    const { url } = await app.listen()
    assert.equal((await endOf(app, await startRestore(app, backup))).status, 'SUCCEEDED')
    const { path, etag } = keepsakes.category
    assert.equal((await http(url, `/api${path}`)).json.data.key, 'Restored', 'behind the same socket')
    assert.equal((await http(url, '/health/ready')).status, 200)
    const body = { key: 'Restored', value: 'changed' }
    assert.equal((await app.call('PUT', path, { body, ifMatch: etag })).status, 412)
    const now = await app.call('GET', path)
    assert.equal((await app.call('PUT', path, { body, ifMatch: now.etag as string })).status, 200)

    const paused = (await app.call('GET', targets)).data
    assert.ok(paused.length > 0)
    for (const { isBackupPaused, backupPauseReason } of paused)
      assert.deepEqual([isBackupPaused, backupPauseReason], [true, 'restored; resume by update'])
    const files = bucketFiles(app)
    await pass(app, 24 * 60)
    assert.deepEqual(bucketFiles(app), files, 'nothing is written to a place that another manager may use')

    const target = await bucketTarget(app)
    const ifMatch = (await app.call('GET', `${targets}/${target.extId}`)).etag as string
    const resumed = { body: { location: inBucket() }, ifMatch, requestId: randomUUID() }
    const task = await app.task(await app.call('PUT', `${targets}/${target.extId}`, resumed))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    await app.runner.idle()
    assert.equal((await bucketTarget(app)).isBackupPaused, false)
    assert.notEqual((await pointsAt(app, inBucket())).points[0]?.extId, backup.restorePointExtId)
  })
})

test('without the backup key of the restore point the task fails with DM-30031, and the instance stays fresh and usable', async () => {
  const other = { config: { backupKey: randomBytes(32).toString('base64') } }
  await withFresh(async (app) => {
    for (const attempt of ['first', 'again']) {
      const task = await endOf(app, await startRestore(app, backup))
      assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'DM-30031'], attempt)
    }
    await usable(app)
  }, other)
})

test('a part that was changed fails the task with DM-30033, which names the part', async () => {
  await withFresh(async (app) => {
    const file = bucketFiles(app).find((each) => each.endsWith(`${backup.restorePointExtId}/part-00001`)) as string
    const content = readFileSync(file)
    content[100] = (content[100] as number) ^ 1
    writeFileSync(file, content)
    const task = await endOf(app, await startRestore(app, backup))
    assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'DM-30033'])
    assert.match(task.errorMessages[0].message, /part-00001/)
    await usable(app)
  })
})

test('a backup of a newer version fails the task with DM-30032', async () => {
  await withFresh(
    async (app) => {
      const task = await endOf(app, await startRestore(app, backup))
      assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'DM-30032'])
      await usable(app)
    },
    { version: '0.0.9' },
  )
})

test('an instance with entities of its own refuses a restore, and the refusal lists them', async () => {
  await withFresh(async (app) => {
    await app.call('POST', categories, { body: { key: 'Already', value: 'here' } })
    const refused = await startRestore(app, backup)
    assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'DM-30030'])
    assert.match(refused.errors[0]?.message as string, /1 of the kind category/)
  })
  // The demo, with its VMs.
  const refused = await startRestore(original, backup)
  assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'DM-30030'])
  assert.match(refused.errors[0]?.message as string, /\d of the kind vm/i)
})

test('an entity that is created during a restore is not lost: the restore ends without an effect', async () => {
  const kept = {
    beforeStep: async (definition: string) => void (definition === 'platform.restore-switch' && (await use())),
  }
  let use = async (): Promise<void> => {}
  await withFresh(async (app) => {
    use = async () => void (await app.call('POST', categories, { body: { key: 'Made', value: 'meanwhile' } }))
    const task = await endOf(app, await startRestore(app, backup))
    assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'DM-30030'])
    assert.equal((await app.call('GET', categories)).data.filter(({ key }: any) => key === 'Made').length, 1)
    assert.ok(!existsSync(join(app.folder, 'restoring.sqlite')))
  }, kept)
})

test('one restore runs at a time; it can be cancelled until it puts the new store in place', async () => {
  const gate = Promise.withResolvers<void>()
  const held = {
    beforeStep: (definition: string) => (definition === 'platform.restore-load' ? gate.promise : undefined),
  }
  await withFresh(async (app) => {
    const started = await startRestore(app, backup)
    const second = await startRestore(app, backup)
    assert.deepEqual([second.status, second.errors[0]?.errorGroup], [409, 'ENTITY_BUSY'])
    const cancel = `/platform/v4.3/config/tasks/${started.data.extId}/$actions/cancel`
    assert.equal((await app.call('POST', cancel, { requestId: randomUUID() })).status, 200)
    gate.resolve()
    assert.equal((await endOf(app, started)).status, 'CANCELED')
    await usable(app)
  }, held)
})

test('the manager gets the name and the address of the request; fields that a restore ignores are a warning', async () => {
  await withFresh(async (app) => {
    const password = 'Unseen.Passw0rd!'
    const more = {
      config: { name: 'PC_restored', size: 'LARGE', credentials: [{ username: 'admin', password }] },
      network: { externalAddress: { ipv4: { value: '10.44.1.19', prefixLength: 32 } } },
    }
    const task = await endOf(app, await startRestore(app, backup, more))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    assert.match(task.warnings[0].message, /config\/size stays SMALL/)
    const manager = (await app.call('GET', `/platform/v4.3/config/domain-managers/${ownManager}`)).data
    assert.deepEqual(
      [manager.config.name, manager.config.size, manager.network.externalAddress.ipv4.value, manager.network.fqdn],
      ['PC_restored', 'SMALL', '10.44.1.19', 'manager.example.com'],
    )
    const stored = await app.store.get(DomainManager, ownManager)
    assert.equal(JSON.stringify(stored).includes(password), false)
    for (const { name } of readdirSync(app.folder, { withFileTypes: true }).filter((entry) => entry.isFile()))
      if (name !== 'lock') assert.ok(!readFileSync(join(app.folder, name)).includes(password), name)
  })
})

test('a subnet that is missing in the restore point fails the check', async () => {
  await withFresh(async (app) => {
    const { manager } = await foundIn(app, backup)
    const externalNetworks = [{ ...manager.network.externalNetworks[0], networkExtId: randomUUID() }]
    const task = await endOf(app, await startRestore(app, backup, { network: { externalNetworks } }))
    assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'DM-30033'])
    assert.match(task.errorMessages[0].message, /networkExtId/)
    await usable(app)
  })
})

test('an unknown restore point is not found, a body without its required fields is refused', async () => {
  await withFresh(async (app) => {
    const { manager, path } = await foundIn(app, backup)
    const unknown = path.replace(backup.restorePointExtId, randomUUID())
    const asked = { body: restoreBody(manager), requestId: randomUUID() }
    assert.equal((await app.call('POST', unknown, asked)).status, 404)
    const { domainManager } = restoreBody(manager) as any
    const nameless = { domainManager: { ...domainManager, config: { size: 'SMALL', buildInfo: {} } } }
    assert.equal((await app.call('POST', path, { body: nameless, requestId: randomUUID() })).status, 400)
  })
})

test('a task that was running in the snapshot is FAILED with TSKS-20910, and its finished steps are undone', async () => {
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  const source = await startApp({
    beforeStep(definition) {
      if (definition !== 'vmm.create-vm') return undefined
      reached.resolve()
      return gate.promise
    },
  })
  try {
    const cluster = { extId: seedId('cluster/hp-native-01') }
    const creating = await source.call('POST', '/vmm/v4.2/ahv/config/vms', {
      body: { name: 'half-made', cluster, numSockets: 1, memorySizeBytes: 2 ** 30 },
      requestId: randomUUID(),
    })
    assert.equal(creating.status, 202, JSON.stringify(creating.errors))
    await reached.promise
    await made(source, inBucket())
    const halfWay = await backupOf(source)
    const app = await freshBeside(halfWay)
    try {
      assert.equal((await endOf(app, await startRestore(app, halfWay))).status, 'SUCCEEDED')
      await app.runner.idle()
      const task = (await app.call('GET', `/platform/v4.3/config/tasks/${creating.data.extId}`)).data
      assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'TSKS-20910'])
      await checkInvariants(app)
      assert.equal(await bucketTarget(app), undefined, 'its target was still being made')
      const { points } = await pointsAt(app, inBucket())
      assert.equal(points[0]?.extId, halfWay.restorePointExtId, 'and its backup is still there')
    } finally {
      await app.close()
    }
  } finally {
    gate.resolve()
    await source.close()
  }
})

/** As every cluster but the manager's own. */
const runsVms = ({ config }: any): boolean => config.clusterFunction.includes('AOS')

/** Nothing came of it, and everything goes on. */
async function usable(app: TestApp): Promise<void> {
  assert.ok(!existsSync(join(app.folder, 'restoring.sqlite')))
  const created = await app.call('POST', categories, { body: { key: 'Still', value: 'fresh' } })
  assert.equal(created.status, 201, JSON.stringify(created.errors))
  assert.equal((await app.call('GET', '/vmm/v4.2/ahv/config/vms')).total, 0)
  await checkInvariants(app)
}

/** Backup targets: what is refused, what is copied, when, and what failures leave. Source: behaviour platform.md 7, 14. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import type { EntityOf } from '@hyperplane/contract'
import { AuthorizationPolicy } from '@hyperplane/contract/iam/authorization-policy'
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { Registration } from '@hyperplane/contract/platform/registration'
import { placeOf } from '../../../src/archive/places.ts'
import { findRestorePoints } from '../../../src/archive/reader.ts'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { registrationIdOf } from '../../../src/domains/registrations/registrations.ts'
import { poolUsage } from '../../../src/domains/storage-space/capacity.ts'
import { demoBucket } from '../../../src/seeds/demo/backups.ts'
import {
  bucketFiles,
  bucketTarget,
  createTarget,
  credentials,
  inBucket,
  listTargets,
  made,
  nativeCluster,
  onCluster,
  ownManager,
  pass,
  pointsAt,
  setBucketFault,
  setBucketKeys,
  setClusterFault,
  targets,
} from '../../support/backups.ts'
import { setFault } from '../../support/clustermgmt.ts'
import { http } from '../../support/http.ts'
import { startApp, type TestApp, type TestSettings } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

/** The clock and the places are moved here: an app of one's own. */
async function alone(work: (own: TestApp) => Promise<void>, settings: TestSettings = {}): Promise<void> {
  const own = await startApp(settings)
  try {
    await work(own)
  } finally {
    await own.close()
  }
}

const code = (result: { status: number; errors: readonly { code?: string }[] }) => [
  result.status,
  result.errors[0]?.code,
]

test('the demo has a target on its hosting cluster, with a verified restore point', async () => {
  const [target] = await listTargets(app)
  assert.equal(target.extId, nativeCluster)
  assert.deepEqual([target.isBackupPaused, target.backupPauseReason], [false, ''])
  const { points, warnings } = await pointsAt(app, onCluster(nativeCluster))
  assert.deepEqual([points.length, warnings.length], [1, 0])
  assert.equal(target.lastSyncTime, points[0]?.creationTime)
  const got = await app.call('GET', `${targets}/${nativeCluster}`)
  assert.deepEqual([got.status, got.data.extId], [200, nativeCluster])
  assert.equal((await app.call('GET', `${targets}/${randomUUID()}`)).status, 404)
})

test('the same cluster again, an RPO of 59, none, or one with a cluster, a remote cluster: refused, nothing stored', async () => {
  const refused = async (location: object) => code(await createTarget(app, location))
  assert.deepEqual(await refused(onCluster(nativeCluster)), [409, 'PLAT-10011'])
  assert.equal((await refused(inBucket({}, { rpoInMinutes: 59 })))[0], 400)
  assert.equal((await refused(inBucket({}, { rpoInMinutes: 1441 })))[0], 400)
  assert.equal((await refused(inBucket({}, null)))[0], 400)
  assert.equal((await refused(onCluster(seedId('cluster/cloud-1'), { backupPolicy: { rpoInMinutes: 60 } })))[0], 400)
  assert.equal((await refused(inBucket({ credentials: undefined })))[0], 400)
  assert.equal((await refused(inBucket({ bucketName: 'Upper_Case' })))[0], 400)
  for (const region of ['elsewhere.example/#', 'eu west', ''])
    assert.equal((await refused(inBucket({ region })))[0], 400, region)
  const remote = {
    $objectType: 'platform.v4.management.ClusterLocation',
    config: {
      $objectType: 'platform.v4.management.RemoteClusterSpec',
      address: { ipv4: { value: '10.44.1.10' } },
      credentials: { authentication: { username: 'admin', password: 'x' } },
    },
  }
  assert.equal((await refused(remote))[0], 400)
  assert.equal((await refused(onCluster(randomUUID())))[0], 404)
  assert.equal((await refused(onCluster(ownManager)))[0], 409, 'it stores no data')
  const elsewhere = targets.replace(ownManager, randomUUID())
  assert.equal(
    (await app.call('POST', elsewhere, { body: { location: inBucket() }, requestId: randomUUID() })).status,
    404,
  )
  assert.equal((await listTargets(app)).length, 1)
})

test('a cluster that does not answer, or whose registration is not connected, cannot become a target', () =>
  alone(async (own) => {
    const extern = seedId('cluster/hp-extern-01')
    const refusal = async (): Promise<unknown[]> => {
      const { status, errors } = await createTarget(own, onCluster(extern))
      return [status, errors[0]?.errorGroup, errors[0]?.message.split(': ').at(-1)]
    }
    await setFault(own, extern, { isDown: true })
    assert.deepEqual(await refusal(), [409, 'CONFLICT', 'it does not answer.'])
    await setFault(own, extern)
    await own.store.transaction((store) =>
      store.update(Registration, registrationIdOf(extern), { connectivityStatus: 'DISCONNECTED' } as never),
    )
    assert.deepEqual(await refusal(), [409, 'CONFLICT', 'its registration is DISCONNECTED.'])
    assert.equal((await listTargets(own)).length, 1)
  }))

test('a fourth cluster and a second object store are refused with the limit', () =>
  alone(async (own) => {
    const clusters = [seedId('cluster/cloud-1'), randomUUID(), randomUUID()]
    await own.store.transaction(async (store) => {
      const like = (await store.get(BackupTarget, nativeCluster))!
      for (const extId of clusters.slice(1)) await store.insert(BackupTarget, { ...like, extId })
    })
    const fourth = await createTarget(own, onCluster(clusters[0]!))
    assert.deepEqual(code(fourth), [422, 'DM-30020'])
    assert.match(fourth.errors[0]!.message, /at most 3, found 4/)
    await made(own, inBucket())
    const second = await createTarget(own, inBucket())
    assert.deepEqual(code(second), [422, 'DM-30020'])
    assert.match(second.errors[0]!.message, /at most 1, found 2/)
    assert.equal((await listTargets(own)).length, 4)
  }))

test('a target in a bucket is created with its first backup, which is readable there; credentials are in no answer', () =>
  alone(async (own) => {
    const task = await made(own, inBucket())
    assert.deepEqual(
      [task.operation, task.progressPercentage, task.subSteps.map(({ name }: any) => name)],
      ['kCreateBackupTarget', 100, ['probe', 'write', 'verify']],
    )
    assert.deepEqual(
      task.entitiesAffected.map(({ rel }: any) => rel),
      ['platform:config:domain_manager'],
    )
    const target = await bucketTarget(own)
    assert.notEqual(target.extId, nativeCluster)
    assert.equal(target.location.backupPolicy.rpoInMinutes, 60)
    const { url } = await own.listen()
    const answer = await http(url, `/api${targets}/${target.extId}`)
    assert.equal(answer.status, 200)
    assert.doesNotMatch(answer.text, /credentials|accessKey|sealed|nextRunTime|lastSizeBytes/)
    const row = await own.store.get(BackupTarget, target.extId)
    assert.doesNotMatch(JSON.stringify(row), new RegExp(demoBucket.secretAccessKey))
    const { points } = await pointsAt(own, inBucket())
    assert.deepEqual(
      points.map(({ creationTime }) => creationTime),
      [target.lastSyncTime],
    )
    assert.equal(bucketFiles(own).filter((file) => file.includes('probe')).length, 0)
  }))

test('when the location refuses a write no target is created, the task names the cause, and no file remains there', () =>
  alone(async (own) => {
    const before = bucketFilesOrNone(own)
    const refusals: [object, string][] = [
      [inBucket({ credentials: { ...credentials, secretAccessKey: 'wrong-wrong' } }), 'DM-30022'],
      [inBucket({ bucketName: 'no-such-bucket' }), 'DM-30023'],
      [inBucket({ connectionConfig: { ipAddressOrHostname: { ipv4: { value: '127.0.0.1' } } } }), 'DM-30021'],
    ]
    for (const [location, expected] of refusals) {
      const task = await own.task(await createTarget(own, location))
      assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', expected])
      assert.doesNotMatch(JSON.stringify(task), /wrong-wrong/)
    }
    for (const [fault, expected] of [
      ['full', 'DM-30025'],
      ['accessDenied', 'DM-30022'],
      ['bitFlip', 'DM-30026'],
      ['slowDown', 'DM-30021'],
    ] as const) {
      await setBucketFault(own, fault)
      const task = await own.task(await createTarget(own, inBucket()))
      assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', expected])
      await setBucketFault(own)
    }
    assert.equal((await listTargets(own)).length, 1)
    assert.deepEqual(bucketFilesOrNone(own), before)
  }))

const bucketFilesOrNone = (own: TestApp): string[] => {
  try {
    return bucketFiles(own)
  } catch {
    return []
  }
}

test('two RPOs pass: two more restore points, and lastSyncTime is the newest; a cluster keeps exactly one', () =>
  alone(async (own) => {
    await made(own, inBucket())
    for (let rpo = 1; rpo <= 2; rpo++) {
      await pass(own, 60)
      const { points } = await pointsAt(own, inBucket())
      assert.equal(points.length, 1 + rpo)
      assert.equal((await bucketTarget(own)).lastSyncTime, points[0]?.creationTime)
    }
    const { points } = await pointsAt(own, onCluster(nativeCluster))
    assert.equal(points.length, 1)
    const [cluster] = await listTargets(own)
    assert.equal(cluster.lastSyncTime, points[0]?.creationTime)
    assert.ok(own.clock.now() - Date.parse(cluster.lastSyncTime) <= 30 * 60_000)
    const runs = await own.call(
      'GET',
      `/platform/v4.3/config/tasks?$filter=${encodeURIComponent("operation eq 'kBackupDomainManager'")}`,
    )
    assert.ok(runs.data.every((task: any) => task.isBackgroundTask && task.ownedBy.name === 'system'))
  }))

test('a PUT without credentials keeps backups running; wrong new ones fail and the old ones still work', () =>
  alone(async (own) => {
    await made(own, inBucket())
    const { extId } = await bucketTarget(own)
    const put = async (location: object) => {
      const { etag } = await own.call('GET', `${targets}/${extId}`)
      return own.call('PUT', `${targets}/${extId}`, {
        body: { location },
        ifMatch: etag as string,
        requestId: randomUUID(),
      })
    }
    const kept = await own.task(await put(inBucket({ credentials: undefined }, { rpoInMinutes: 120 })))
    assert.deepEqual(
      [kept.status, kept.operation],
      ['SUCCEEDED', 'kUpdateBackupTarget'],
      JSON.stringify(kept.errorMessages),
    )
    await pass(own, 60)
    assert.equal((await pointsAt(own, inBucket())).points.length, 1, 'the RPO is 120 minutes now')
    await pass(own, 60)
    assert.equal((await pointsAt(own, inBucket())).points.length, 2)

    const wrong = await own.task(
      await put(inBucket({ credentials: { ...credentials, secretAccessKey: 'wrong-wrong' } })),
    )
    assert.deepEqual([wrong.status, wrong.errorMessages[0].code], ['FAILED', 'DM-30022'])
    assert.equal((await bucketTarget(own)).location.backupPolicy.rpoInMinutes, 120)
    await pass(own, 120)
    assert.equal((await pointsAt(own, inBucket())).points.length, 3)

    assert.equal((await put(inBucket({ bucketName: 'another-bucket' }))).status, 400)
    assert.equal((await put(inBucket({ region: 'eu-west-1' }))).status, 400)
    assert.equal((await put(inBucket({}, null))).status, 400)
    const cluster = await own.call('GET', `${targets}/${nativeCluster}`)
    const onIt = {
      body: { location: onCluster(nativeCluster) },
      ifMatch: cluster.etag as string,
      requestId: randomUUID(),
    }
    assert.equal((await own.call('PUT', `${targets}/${nativeCluster}`, onIt)).status, 400)
  }))

test('a restore point with a bit flip is not offered, three failures pause the target, and the next successful backup resumes it', () =>
  alone(async (own) => {
    await made(own, inBucket())
    const good = await pointsAt(own, inBucket())
    await setBucketFault(own, 'bitFlip')
    for (let run = 1; run <= 3; run++) {
      await pass(own, 60)
      const target = await bucketTarget(own)
      assert.equal(target.isBackupPaused, run === 3)
      assert.equal(target.backupPauseReason === '', run < 3)
      assert.deepEqual((await pointsAt(own, inBucket())).points, good.points)
    }
    const { backupPauseReason } = await bucketTarget(own)
    assert.match(backupPauseReason, /part-00001|manifest\.json/)
    await setBucketFault(own)
    await pass(own, 61)
    const healed = await bucketTarget(own)
    assert.deepEqual([healed.isBackupPaused, healed.backupPauseReason], [false, ''])
    const { points, warnings } = await pointsAt(own, inBucket())
    assert.deepEqual([points.length, warnings], [2, []])
    assert.equal(healed.lastSyncTime, points[0]?.creationTime)
  }))

test('a full location, a torn upload, a lost COMPLETE and a lost connection leave the older restore points intact', () =>
  alone(async (own) => {
    await made(own, inBucket())
    const before = bucketFiles(own)
    for (const [fault, afterUploads] of [
      ['full', 1],
      ['tornUpload', 0],
      ['losesComplete', 0],
      ['unreachable', 0],
    ] as const) {
      await setBucketFault(own, fault, afterUploads)
      await pass(own, 61)
      await setBucketFault(own)
      const { points, warnings } = await pointsAt(own, inBucket())
      assert.deepEqual([points.length, warnings], [1, []], fault)
    }
    for (const file of before) readFileSync(file)
    await pass(own, 61)
    assert.equal((await pointsAt(own, inBucket())).points.length, 2)
  }))

test('on a cluster the old restore point is removed only after the new one is complete', () =>
  alone(async (own) => {
    const { points } = await pointsAt(own, onCluster(nativeCluster))
    await setClusterFault(own, 'bitFlip')
    await pass(own, 31)
    assert.deepEqual((await pointsAt(own, onCluster(nativeCluster))).points, points)
    await setClusterFault(own)
    await pass(own, 31)
    const after = (await pointsAt(own, onCluster(nativeCluster))).points
    assert.equal(after.length, 1)
    assert.notEqual(after[0]?.extId, points[0]?.extId)
  }))

test('a restore point that is damaged at its location is detected within a day, and removed', () =>
  alone(async (own) => {
    await made(own, inBucket({}, { rpoInMinutes: 1440 }))
    const [first] = (await pointsAt(own, inBucket())).points
    const part = bucketFiles(own).find((file) => file.endsWith('part-00001')) as string
    const bytes = readFileSync(part)
    bytes[100] = (bytes[100] as number) ^ 1
    writeFileSync(part, bytes)
    await pass(own, 1440)
    const { points } = await pointsAt(own, inBucket())
    assert.equal(points.length, 1)
    assert.notEqual(points[0]?.extId, first?.extId)
    const filter = encodeURIComponent("operation eq 'kBackupDomainManager' and status eq 'SUCCEEDED'")
    const runs = (await own.call('GET', `/platform/v4.3/config/tasks?$filter=${filter}&$limit=100`)).data
    assert.ok(runs.some((task: any) => JSON.stringify(task.warnings ?? []).includes('part-00001')))
  }))

test('a daily rehearsal of a restore fails the run when the state is inconsistent, and keeps the older restore point', () =>
  alone(async (own) => {
    const before = await pointsAt(own, onCluster(nativeCluster))
    const [policy] = await own.store.find(AuthorizationPolicy)
    const { extId, role } = policy as EntityOf<typeof AuthorizationPolicy>
    const giveRole = (to: string) =>
      own.store.transaction((transaction) => transaction.update(AuthorizationPolicy, extId, { role: to }))
    await giveRole(randomUUID())
    await pass(own, 31)
    const filter = encodeURIComponent("operation eq 'kBackupDomainManager' and status eq 'FAILED'")
    const [failed] = (await own.call('GET', `/platform/v4.3/config/tasks?$filter=${filter}`)).data
    assert.match(failed.errorMessages[0].message, new RegExp(`role of AuthorizationPolicy ${extId} names Role`))
    assert.deepEqual(await pointsAt(own, onCluster(nativeCluster)), before)
    await giveRole(role)
    await pass(own, 31)
    assert.notDeepEqual((await pointsAt(own, onCluster(nativeCluster))).points, before.points)
    assert.deepEqual(
      readdirSync(own.folder).filter((name) => name.startsWith('trial')),
      [],
    )
  }))

test('a row as large as the inventory of a whole cluster is backed up, verified and restored for trial', () =>
  alone(
    async (own) => {
      const entity = { text: 'x'.repeat(1024) }
      const rows = Array.from({ length: 20_000 }, (_, index) => ({
        kind: 'Vm',
        entity: { ...entity, name: `vm-${index}` },
      }))
      await own.world.collection<object>('remotes.inventories').put(randomUUID(), rows)
      const before = await pointsAt(own, onCluster(nativeCluster))
      await pass(own, 31)
      const after = await pointsAt(own, onCluster(nativeCluster))
      assert.notDeepEqual(after.points, before.points)
      const row = (await own.store.get(BackupTarget, nativeCluster))!
      assert.equal(row.failedRuns, 0)
      assert.ok(row.lastCheckTime !== undefined, 'it was restored for trial')
    },
    { unchecked: 'an inventory has VMs without domains' },
  ))

test('a delete removes the target and its schedule; written restore points stay', () =>
  alone(async (own) => {
    await made(own, inBucket())
    const { extId } = await bucketTarget(own)
    const { etag } = await own.call('GET', `${targets}/${extId}`)
    assert.equal((await own.call('DELETE', `${targets}/${extId}`, { requestId: randomUUID() })).status, 428)
    const task = await own.task(
      await own.call('DELETE', `${targets}/${extId}`, { ifMatch: etag as string, requestId: randomUUID() }),
    )
    assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'kDeleteBackupTarget'])
    assert.equal((await app.call('GET', `${targets}/${extId}`)).status, 404)
    await pass(own, 120)
    assert.equal((await pointsAt(own, inBucket())).points.length, 1)
  }))

test('the backup of a cluster counts as used space of its default container', () =>
  alone(async (own) => {
    const container = seedId('container/hp-native-01/default')
    const used = async () => (await poolUsage(own, nativeCluster)).containers.get(container)?.logicalBytes as number
    const before = await used()
    const row = (await own.store.get(BackupTarget, nativeCluster))!
    await own.store.transaction((store) =>
      store.observe(BackupTarget, nativeCluster, { lastSizeBytes: (row.lastSizeBytes ?? 0) + 5_000_000 }),
    )
    assert.equal((await used()) - before, 5_000_000)
  }))

test('a cluster without room for two more backups is refused at acceptance', () =>
  alone(async (own) => {
    await own.store.transaction((store) => store.observe(BackupTarget, nativeCluster, { lastSizeBytes: 10 ** 15 }))
    const refused = await createTarget(own, onCluster(seedId('cluster/cloud-1')))
    assert.deepEqual(code(refused), [409, 'DM-30025'])
  }))

test('no file at the backup location contains the name of a VM or user, or a password, in plain text', () =>
  alone(async (own) => {
    await made(own, inBucket())
    const all = bucketFiles(own)
      .map((file) => readFileSync(file).toString('latin1'))
      .join('\n')
    for (const secret of [
      'web-01',
      'db-01',
      'viewer',
      '"admin"',
      'Admin.Passw0rd!',
      demoBucket.secretAccessKey,
      '$argon',
      '$scrypt',
    ])
      assert.ok(!all.includes(secret), secret)
  }))

test('a PUT with an empty or masked secret key keeps the stored one, again and again', () =>
  alone(async (own) => {
    await made(own, inBucket())
    const { extId } = await bucketTarget(own)
    const put = async (more: object, rpoInMinutes = 60) => {
      const { etag } = await own.call('GET', `${targets}/${extId}`)
      const body = { location: inBucket(more, { rpoInMinutes }) }
      return own.call('PUT', `${targets}/${extId}`, { body, ifMatch: etag as string, requestId: randomUUID() })
    }
    const { secretAccessKey: _, ...withoutKey } = credentials
    for (const [index, given] of [
      { ...credentials, secretAccessKey: '' },
      { ...credentials, secretAccessKey: '********' },
      withoutKey,
      { ...credentials, secretAccessKey: '' },
    ].entries()) {
      const task = await own.task(await put({ credentials: given }, 61 + index))
      assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
      assert.equal((await bucketTarget(own)).location.backupPolicy.rpoInMinutes, 61 + index)
    }

    // Another access key with the kept secret: the place refuses the pair, and nothing was replaced.
    const accessKeyId = 'ANOTHER-ACCESS-KEY-ID'
    const refused = await own.task(await put({ credentials: { accessKeyId, secretAccessKey: '' } }))
    assert.deepEqual([refused.status, refused.errorMessages[0].code], ['FAILED', 'DM-30022'])
    await setBucketKeys(own, { [accessKeyId]: credentials.secretAccessKey })
    const accepted = await own.task(await put({ credentials: { accessKeyId, secretAccessKey: '********' } }))
    assert.equal(accepted.status, 'SUCCEEDED', JSON.stringify(accepted.errorMessages))

    // The kept secret goes to the stored host alone.
    const elsewhere = { ipAddressOrHostname: { fqdn: { value: 'elsewhere.example.com' } } }
    for (const secretAccessKey of ['', '********', credentials.secretAccessKey]) {
      const moved = await put({ connectionConfig: elsewhere, credentials: { accessKeyId, secretAccessKey } })
      assert.equal(moved.status, 400)
      assert.match(JSON.stringify(moved.errors), /ipAddressOrHostname/)
    }
  }))

test('a new target is refused with an empty secret key', async () => {
  const refused = await createTarget(app, inBucket({ credentials: { ...credentials, secretAccessKey: '' } }))
  assert.equal(refused.status, 400)
  assert.match(JSON.stringify(refused.errors), /credentials\/secretAccessKey/)
})

test('a backup contains rows of every kind in their state at its begin', () =>
  alone(async (own) => {
    await made(own, inBucket())
    const row = (await bucketTarget(own)) as any
    const place = placeOf('BackupTarget', (await own.store.get(BackupTarget, row.extId)) as any, {
      open: () => JSON.stringify(credentials),
    })
    const { manifests } = await findRestorePoints({ store: own.drivers.objectStore, place })
    const own1 = manifests.find(({ domainManager }) => domainManager.extId === ownManager)!
    const rows: Record<string, number> = {}
    for (const part of own1.parts)
      for (const [kind, count] of Object.entries(part.rows)) rows[kind] = (rows[kind] ?? 0) + count
    assert.equal(rows['Vm'], (await own.call('GET', '/vmm/v4.2/ahv/config/vms')).total)
    assert.equal(rows['RememberedAnswer'], undefined)
    assert.ok((rows['Fact'] ?? 0) > 0)
    assert.ok(own1.parts.every(({ section, rows: inPart }) => (section === 'world') === 'Fact' in inPart))
  }))

/** OVAs and VMs deployed from them, through the API. Source: behaviour vmm.md 1.11, 3.6, 3.9, 5 (34, 40, 43, 46, 48, 50). */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { childrenOf, elementsIn, readXml } from '../../../src/core/xml.ts'
import { poolUsage } from '../../../src/domains/storage-space/capacity.ts'
import { ovf } from '../../../src/domains/vmm/content/ova/ovf.ts'
import type { DiskFact } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { diskFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { contentBytes } from '../../../src/drivers/simulated/hypervisor/layers.ts'
import { ovaFacts } from '../../../src/drivers/simulated/ova-files.ts'
import { nativeCluster, unknown } from '../../kinds/kind.ts'
import { happen } from '../../support/events.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  act,
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  changed,
  emptyDisk,
  GiB,
  MiB,
  type NativeCluster,
  nicOn,
  readVm,
} from '../../support/native-cluster.ts'
import {
  anOva,
  deleteOva,
  deployOva,
  downloadOf,
  ofUrl,
  ofVm,
  ovas,
  postOva,
  readOva,
  renameOva,
} from '../../support/ovas.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { succeeded } from '../../support/templates.ts'

let app: TestApp
let cluster: NativeCluster
let subnet: string
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
  subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.40'])
  await app.store.transaction((store) =>
    store.insert(StorageContainer, {
      extId: imageContainer,
      containerExtId: imageContainer,
      name: 'SelfServiceContainer',
      clusterExtId: cluster.extId,
      replicationFactor: 1,
    } as never),
  )
})
after(() => app.close())

const imageContainer = randomUUID()
const url = 'https://images.example.com/appliance.ova'

const aSource = (more: object = {}) =>
  aVm(app, cluster, { name: 'source', disks: [bootDisk(cluster), emptyDisk(3 * GiB)], nics: [nicOn(subnet)], ...more })

/** A failed task leaves nothing. */
async function failed(body: object): Promise<any> {
  const before = ovaFacts(app.world).all().size
  const task = await app.task(await postOva(app, body))
  assert.equal(task.status, 'FAILED')
  assert.equal((await app.call('GET', `${ovas}/${task.entitiesAffected[0].extId}`)).status, 404)
  assert.equal(ovaFacts(app.world).all().size, before)
  return task.errorMessages[0]
}

/** The files that GNU tar finds in an archive, in its order. */
function untarred(bytes: Buffer): Map<string, Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'ova-'))
  try {
    const archive = join(folder, 'archive.ova')
    writeFileSync(archive, bytes)
    const names = execFileSync('tar', ['-tf', archive], { encoding: 'utf8' }).trim().split('\n')
    execFileSync('tar', ['-xf', archive, '-C', folder])
    return new Map(names.map((name) => [name, readFileSync(join(folder, name))]))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('an OVA of a VM shows the configuration of the VM without addresses, and the digest of its file', async () => {
  const source = await aSource({ numSockets: 2, description: 'the first' })
  const task = await app.task(await postOva(app, ofVm(source.extId)))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.operation, 'kOvaCreate')
  assert.deepEqual(
    task.subSteps.map(({ name }: any) => name),
    ['freeze', 'write archive', 'store'],
  )
  const [{ extId, name, rel }, ...others] = task.entitiesAffected
  assert.deepEqual([name, rel, others], ['exported', 'vmm:content:ova', []])
  const ova = await readOva(app, extId)
  assert.equal(ova.diskFormat, 'VMDK')
  assert.equal(ova.parentVm, 'source')
  assert.equal(ova.createdBy.username, 'admin')
  assert.deepEqual(ova.clusterLocationExtIds, [cluster.extId])
  const { vmConfig } = ova
  assert.deepEqual([vmConfig.name, vmConfig.numSockets, vmConfig.machineType], ['source', 2, 'PC'])
  assert.deepEqual(
    vmConfig.disks.map(({ backingInfo }: any) => backingInfo.diskSizeBytes),
    [2 * GiB, 3 * GiB],
  )
  assert.equal(vmConfig.nics.length, 1)
  const text = JSON.stringify(vmConfig)
  for (const secret of [source.extId, subnet, '10.0.0.', source.nics[0].backingInfo.macAddress])
    assert.ok(!text.includes(secret), secret)
  const { answer, bytes } = await downloadOf(app, extId)
  assert.deepEqual(
    [answer.contentType, answer.fileName, answer.contentLength],
    ['application/octet-stream', 'exported.ova', bytes.length],
  )
  assert.equal(ova.sizeBytes, bytes.length)
  assert.equal(ova.checksum.hexDigest, createHash('sha256').update(bytes).digest('hex'))
})

for (const [format, magic] of [
  ['VMDK', 'KDMV'],
  ['QCOW2', 'QFI\xfb'],
] as const) {
  test(`GNU tar reads the file: a descriptor, a manifest that matches, and disks in ${format}`, async () => {
    const source = await aSource({ name: 'a <VM> & more' })
    const ova = await anOva(app, { name: '../../ü web', ...ofVm(source.extId, format) }).catch(() => undefined)
    assert.equal(ova, undefined, '../ in a name is refused')
    const { extId } = await anOva(app, { name: 'ü web', ...ofVm(source.extId, format) })
    const { bytes } = await downloadOf(app, extId)
    const files = untarred(bytes)
    const extension = format.toLowerCase()
    assert.deepEqual([...files.keys()], ['web.ovf', 'web.mf', `web-disk1.${extension}`, `web-disk2.${extension}`])
    const manifest = files.get('web.mf')?.toString() ?? ''
    const lines = manifest
      .trim()
      .split('\n')
      .map((line) => /^SHA256\((.+)\)= ([0-9a-f]{64})$/.exec(line))
    assert.deepEqual(
      lines.map((line) => line?.[1]),
      [...files.keys()].filter((name) => name !== 'web.mf'),
    )
    for (const line of lines)
      assert.equal(
        createHash('sha256')
          .update(files.get(line?.[1] ?? '') as Buffer)
          .digest('hex'),
        line?.[2],
      )
    for (const name of [`web-disk1.${extension}`, `web-disk2.${extension}`])
      assert.equal(files.get(name)?.toString('latin1', 0, 4), magic)
    const root = await readXml(files.get('web.ovf')?.toString() ?? '')
    assert.deepEqual(
      root.children.map(({ name }) => name),
      ['References', 'DiskSection', 'NetworkSection', 'VirtualSystem'],
    )
    const [system] = childrenOf(root, ovf, 'VirtualSystem')
    assert.equal(childrenOf(system!, ovf, 'Name')[0]?.text, 'a <VM> & more')
    const hrefs = [...elementsIn(root)].filter(({ name }) => name === 'File').map(({ qualified }) => qualified)
    assert.deepEqual(
      hrefs.map((file) => Number(file[`${ovf} size`])),
      hrefs.map((file) => files.get(file[`${ovf} href`] as string)?.length),
    )
  })
}

test('two downloads of an OVA are equal, also after its VM has changed and is deleted', async () => {
  const source = await aSource()
  const { extId } = await anOva(app, ofVm(source.extId))
  const first = (await downloadOf(app, extId)).bytes
  assert.equal((await changed(app, source.extId, 'delete')).status, 'SUCCEEDED')
  assert.ok(first.equals((await downloadOf(app, extId)).bytes))
})

test('a running VM can be exported, and a VM without disks and NICs', async () => {
  const source = await aSource()
  assert.equal((await changed(app, source.extId, 'power-on')).status, 'SUCCEEDED')
  await anOva(app, ofVm(source.extId))
  assert.equal((await readVm(app, source.extId)).powerState, 'ON')
  const plain = await anOva(app, ofVm((await aVm(app, cluster, {})).extId))
  assert.deepEqual([plain.vmConfig.disks, plain.vmConfig.nics], [undefined, undefined])
  await succeeded(app, deployOva(app, plain.extId, cluster.extId))
})

test('the task fails for a VM that does not exist, and nothing is left', async () => {
  const error = await failed(ofVm(unknown))
  assert.match(error.message, /the VM entity .* is not present/)
  assert.equal(error.code, 'VMM-20005')
})

test('a URL whose server cannot be reached is refused at once, and one that answers 404 or no archive fails the task', async () => {
  const refused = await postOva(app, ofUrl('https://files.invalid/appliance.ova', cluster.extId))
  assert.equal(refused.status, 422)
  assert.match(refused.errors[0]?.message ?? '', /Failed to upload the OVA/)
  assert.equal(refused.errors[0]?.errorGroup, 'SOURCE_UNAVAILABLE')
  await app.world.collection('content.faults').put('broken.example.com', { kind: 'status', status: 404 } as never)
  const missing = await failed(ofUrl('https://broken.example.com/appliance.ova', cluster.extId))
  assert.match(missing.message, /the server answers 404/)
  const noise = await failed(ofUrl('https://images.example.com/appliance.bin', cluster.extId))
  assert.match(noise.message, /Failed to upload the OVA .*(no tar archive|no descriptor)/)
})

test('a server that cuts downloads, or sends other bytes, fails the task, and nothing is left', async () => {
  const server = 'faulty.example.com'
  const body = ofUrl(`https://${server}/appliance.ova`, cluster.extId)
  for (const [fault, cause] of [
    ['CUT', /the connection broke off after \d+ of \d+ bytes/],
    ['CORRUPT', /the SHA256 digest of "appliance-disk001.vmdk" is expected to be/],
  ] as const) {
    await happen(app, { type: 'CONTENT_SERVER_FAILS', server, fault })
    const error = await failed(body)
    assert.equal(error.code, 'VMM-50001')
    assert.match(error.message, cause)
  }
  await happen(app, { type: 'CONTENT_SERVER_FAILS', server, fault: 'DOWN' })
  assert.equal((await postOva(app, body)).status, 422)
  await happen(app, { type: 'CONTENT_SERVER_RETURNS', server })
  await anOva(app, body)
})

test('a server with a login, and one without a trusted certificate, are read with the fields of the source', async () => {
  const server = 'guarded.example.com'
  const asking = (more: object) => {
    const body: any = ofUrl(`https://${server}/appliance.ova`, cluster.extId)
    return { ...body, source: { ...body.source, ...more } }
  }
  await happen(app, { type: 'CONTENT_SERVER_FAILS', server, fault: 'LOGIN' })
  assert.match((await failed(asking({}))).message, /requires a login/)
  assert.match((await failed(asking({ basicAuth: { username: 'me', password: 'wrong' } }))).message, /login of me/)
  await anOva(app, asking({ basicAuth: { username: 'me', password: 'right' } }))
  await happen(app, { type: 'CONTENT_SERVER_FAILS', server, fault: 'UNTRUSTED' })
  assert.match((await failed(asking({}))).message, /certificate of the server cannot be verified/)
  await anOva(app, asking({ shouldAllowInsecureUrl: true }))
})

test('an OVA from a URL shows the contents of its descriptor, and its file is the file at the URL', async () => {
  const ova = await anOva(app, ofUrl(url, cluster.extId))
  assert.equal(ova.parentVm, 'appliance')
  assert.equal(ova.diskFormat, 'VMDK')
  assert.equal(ova.vmConfig.disks.length, 1)
  assert.equal(ova.vmConfig.nics.length, 1)
  const { bytes } = await downloadOf(app, ova.extId)
  assert.equal(ova.checksum.hexDigest, createHash('sha256').update(bytes).digest('hex'))
  assert.deepEqual([...untarred(bytes).keys()], ['appliance.ovf', 'appliance.mf', 'appliance-disk001.vmdk'])
  const again = await anOva(app, ofUrl(url, cluster.extId))
  assert.equal(again.checksum.hexDigest, ova.checksum.hexDigest)
  const sha1 = createHash('sha1').update(bytes).digest('hex').toUpperCase()
  const checksum = { $objectType: 'vmm.v4.content.OvaSha1Checksum', hexDigest: sha1 }
  assert.deepEqual((await anOva(app, { ...ofUrl(url, cluster.extId), checksum })).checksum, checksum)
})

test('a wrong checksum fails the task, which names both digests and leaves no bytes', async () => {
  const checksum = { $objectType: 'vmm.v4.content.OvaSha256Checksum', hexDigest: '0'.repeat(64) }
  const error = await failed({ ...ofUrl(url, cluster.extId), checksum })
  assert.match(error.message, new RegExp(`expected ${checksum.hexDigest}, found [0-9a-f]{64}`))
})

test('a source without locations, with a checksum for a VM, on a cluster without the VM, or from a bucket is refused', async () => {
  const source = await aSource()
  const fault = async (body: object): Promise<[number, string | undefined]> => {
    const { status, errors } = await postOva(app, body)
    return [status, errors[0]?.argumentsMap?.attributePath]
  }
  assert.deepEqual(await fault({ ...ofUrl(url, cluster.extId), clusterLocationExtIds: undefined }), [
    400,
    'clusterLocationExtIds',
  ])
  assert.deepEqual(await fault({}), [400, 'source'])
  const checksum = { $objectType: 'vmm.v4.content.OvaSha256Checksum', hexDigest: 'a'.repeat(64) }
  assert.deepEqual(await fault({ ...ofVm(source.extId), checksum }), [400, 'checksum'])
  const other = await aNativeCluster(app)
  assert.deepEqual(await fault({ ...ofVm(source.extId), clusterLocationExtIds: [other.extId] }), [
    400,
    'clusterLocationExtIds',
  ])
  const object = { $objectType: 'vmm.v4.content.ObjectsLiteSource', key: 'vm.ova' }
  assert.deepEqual(await fault({ source: object }), [400, 'clusterLocationExtIds'])
  const both = { ...ofUrl(url, cluster.extId).source, vmExtId: source.extId }
  assert.equal((await postOva(app, { source: both, clusterLocationExtIds: [cluster.extId] })).status, 400)
  assert.equal((await postOva(app, { name: 'a'.repeat(2 ** 20), ...ofVm(source.extId) })).status, 400)
  assert.equal((await postOva(app, { name: 'a\u0000b', ...ofVm(source.extId) })).status, 400)
})

test('a deployed VM is off, has disks of its own and the NICs that the request names', async () => {
  const source = await aSource({ numSockets: 2, cdRoms: [{ diskAddress: { busType: 'IDE', index: 1 } }] })
  const ova = await anOva(app, ofVm(source.extId))
  const task = await app.task(await deployOva(app, ova.extId, cluster.extId, { nics: [nicOn(subnet), nicOn(subnet)] }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.operation, 'kOvaDeploy')
  assert.ok(task.subSteps.some(({ name }: any) => name === 'unpack'))
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    ['vmm:content:ova', 'vmm:ahv:config:vm'],
  )
  const vm = await readVm(app, task.entitiesAffected[1].extId)
  assert.deepEqual([vm.name, vm.powerState, vm.numSockets, vm.nics.length], ['source', 'OFF', 2, 2])
  assert.equal(vm.cdRoms.length, 1)
  assert.deepEqual(
    vm.disks.map(({ backingInfo }: any) => [backingInfo.diskSizeBytes, backingInfo.dataSource]),
    [
      [2 * GiB, undefined],
      [3 * GiB, undefined],
    ],
  )
  const os = vm.disks.map(({ extId }: any) => diskFacts(app.world).get(extId)?.os)
  assert.deepEqual(os, ['linux', undefined])
  await succeeded(app, deleteOva(app, ova.extId))
  assert.equal((await changed(app, vm.extId, 'power-on')).status, 'SUCCEEDED')
  await checkInvariants(app)
})

test('a deployed disk holds what the exported disk held in all its layers', async () => {
  const source = await aSource()
  assert.equal((await changed(app, source.extId, 'power-on')).status, 'SUCCEEDED')
  await app.clock.advance(10 * 24 * 3600_000)
  await succeeded(app, act(app, source.extId, 'clone', { name: 'copy' }))
  await app.clock.advance(24 * 3600_000)
  const disks = diskFacts(app.world)
  const held = (extId: string) => contentBytes(disks, disks.get(extId) as DiskFact, app.clock.now())
  const exported = source.disks.map((disk: any) => held(disk.backingInfo.diskExtId))
  assert.ok(exported.every((bytes: number) => bytes > GiB / 2))
  const ova = await anOva(app, ofVm(source.extId))
  const task = await succeeded(app, deployOva(app, ova.extId, cluster.extId))
  const vm = await readVm(app, task.entitiesAffected[1].extId)
  assert.deepEqual(
    vm.disks.map((disk: any) => held(disk.backingInfo.diskExtId)),
    exported,
  )
  await checkInvariants(app)
})

test('the overrides of a deployment replace name, size and drives; without NICs the VM has none', async () => {
  const ova = await anOva(app, ofUrl(url, cluster.extId))
  const overrides = {
    name: 'own',
    memorySizeBytes: 512 * MiB,
    numSockets: 3,
    numCoresPerSocket: 2,
    cdRoms: [],
    nics: [],
  }
  const task = await succeeded(app, deployOva(app, ova.extId, cluster.extId, overrides))
  const vm = await readVm(app, task.entitiesAffected[1].extId)
  assert.deepEqual(
    [vm.name, vm.memorySizeBytes, vm.numSockets, vm.numCoresPerSocket, vm.nics],
    ['own', 512 * MiB, 3, 2, undefined],
  )
})

test('a deployment is refused for an unknown OVA, a cluster without the file, and overrides without NICs', async () => {
  const ova = await anOva(app, ofUrl(url, cluster.extId))
  const absent = await deployOva(app, unknown, cluster.extId)
  assert.equal(absent.status, 404)
  assert.match(absent.errors[0]?.message ?? '', /could not find the entity/)
  const other = await aNativeCluster(app)
  assert.equal((await deployOva(app, ova.extId, other.extId)).status, 409)
  assert.equal((await deployOva(app, ova.extId, unknown)).status, 404)
  assert.equal((await deployOva(app, ova.extId, cluster.extId, {})).status, 400)
  const small = await deployOva(app, ova.extId, cluster.extId, { nics: [], memorySizeBytes: 1 })
  assert.equal(small.status, 400)
  assert.equal(small.errors[0]?.argumentsMap?.attributePath, 'overrideVmConfig/memorySizeBytes')
  const $objectType = 'vmm.v4.ahv.config.SriovNic'
  const nic = { nicBackingInfo: { $objectType, sriovProfileReference: { extId: unknown } } }
  assert.equal((await deployOva(app, ova.extId, cluster.extId, { nics: [nic] })).status, 404)
  const reference = {
    $objectType: 'vmm.v4.ahv.config.VolumeDiskRecoveryPointReference',
    diskRecoveryPointExtId: unknown,
  }
  const drive = { backingInfo: { dataSource: { reference } } }
  assert.equal((await deployOva(app, ova.extId, cluster.extId, { nics: [], cdRoms: [drive] })).status, 501)
})

test('a deployment that is queued behind the deletion of its OVA fails and leaves no VM', async () => {
  const source = await aSource()
  const ova = await anOva(app, ofVm(source.extId))
  const disks = [...diskFacts(app.world).all().keys()]
  const [deleting, deploying] = await Promise.all([
    deleteOva(app, ova.extId),
    deployOva(app, ova.extId, cluster.extId, { nics: [nicOn(subnet)] }),
  ])
  await app.task(deleting)
  if (deploying.status === 202) {
    const task = await app.task(deploying)
    if (task.status === 'FAILED') assert.equal(task.errorMessages[0].code, 'VMM-20005')
    else await succeeded(app, Promise.resolve(deploying))
    if (task.status === 'FAILED') assert.deepEqual([...diskFacts(app.world).all().keys()], disks)
  } else assert.equal(deploying.status, 404)
  await checkInvariants(app)
})

test('an update changes the name and nothing else, and needs the tag', async () => {
  const ova = await anOva(app, ofUrl(url, cluster.extId))
  const task = await succeeded(
    app,
    renameOva(app, ova.extId, { ...ova, name: 'renamed', checksum: undefined, clusterLocationExtIds: [] }),
  )
  assert.equal(task.operation, 'kOvaUpdate')
  const { name, lastUpdateTime, ...rest } = await readOva(app, ova.extId)
  const { name: _name, lastUpdateTime: before, ...former } = ova
  assert.equal(name, 'renamed')
  assert.ok(lastUpdateTime >= before)
  assert.deepEqual(rest, former)
  assert.equal((await downloadOf(app, ova.extId)).answer.fileName, 'renamed.ova')
  const body = { name: 'untagged' }
  assert.equal((await app.call('PUT', `${ovas}/${ova.extId}`, { requestId: randomUUID(), body })).status, 428)
})

test('OVAs that are made, deployed and deleted again leave no bytes', async () => {
  const bytes = async () => (await poolUsage(app, cluster.extId)).containers.get(imageContainer)?.logicalBytes as number
  const [before, files] = [await bytes(), ovaFacts(app.world).all().size]
  const made = await anOva(app, ofUrl(url, cluster.extId))
  assert.equal(await bytes(), before + made.sizeBytes)
  for (let time = 0; time < 5; time++)
    await succeeded(app, deleteOva(app, (await anOva(app, ofUrl(url, cluster.extId))).extId))
  const task = await succeeded(app, deleteOva(app, made.extId))
  assert.equal(task.operation, 'kOvaDelete')
  assert.deepEqual([await bytes(), ovaFacts(app.world).all().size], [before, files])
  assert.equal((await app.call('GET', `${ovas}/${made.extId}`)).status, 404)
})

test('a list is filtered by the name of the VM and the format', async () => {
  const { extId } = await anOva(app, { name: 'listed', ...ofVm((await aSource({ name: 'listed-vm' })).extId, 'QCOW2') })
  const query = "parentVm eq 'listed-vm' and diskFormat eq Vmm.Content.OvaDiskFormat'QCOW2'"
  const { data } = await app.call('GET', `${ovas}?$filter=${encodeURIComponent(query)}`)
  assert.deepEqual(
    data.map((ova: any) => ova.extId),
    [extId],
  )
  assert.equal((await app.call('GET', `${ovas}?$filter=${encodeURIComponent("vmConfig eq 'x'")}`)).status, 400)
})

test('the password of a URL is in no answer, task or error', async () => {
  const password = `pw-${randomUUID()}`
  const ova = await anOva(app, ofUrl(url, cluster.extId, { basicAuth: { username: 'robot', password } }))
  const { extId: task } = (await postOva(
    app,
    ofUrl('https://x.invalid/a.ova', cluster.extId, { basicAuth: { username: 'r', password } }),
  )) as any
  const texts = [
    ova,
    await app.call('GET', ovas),
    await app.call('GET', '/platform/v4.2/config/tasks?$limit=100'),
    task,
  ]
  for (const text of texts) assert.ok(!JSON.stringify(text ?? '').includes(password))
})

test('an operator of VMs reads OVAs, and cannot change, deploy or download them; a platform viewer downloads them', async () => {
  const demo = await startApp()
  try {
    const ova = await anOva(demo, ofUrl(url, nativeCluster))
    const operator = await aUser(demo, ['Virtual Machine Operator'])
    const statuses = async (as: string): Promise<number[]> => {
      const answers = [
        await demo.call('GET', ovas, { as }),
        await demo.call('GET', `${ovas}/${ova.extId}`, { as }),
        await demo.call('GET', `${ovas}/${ova.extId}/file`, { as }),
        await postOva(demo, ofUrl(url, nativeCluster), { as }),
        await deployOva(demo, ova.extId, nativeCluster, { nics: [] }, { as }),
        await demo.call('PUT', `${ovas}/${ova.extId}`, { as, ifMatch: 'x', body: { name: 'x' } }),
        await demo.call('DELETE', `${ovas}/${ova.extId}`, { as }),
      ]
      return answers.map(({ status }) => status)
    }
    assert.deepEqual(await statuses(operator), [200, 200, 403, 403, 403, 403, 403])
    const viewer = await aUser(demo, ['Platform Viewer'])
    assert.deepEqual(await statuses(viewer), [200, 200, 200, 403, 403, 403, 403])
    assert.equal((await readOva(demo, ova.extId)).name, ova.name)
  } finally {
    await demo.close()
  }
})

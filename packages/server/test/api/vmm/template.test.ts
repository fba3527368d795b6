/** Templates and their versions through the API. Source: behaviour vmm.md 1.10, 3.9, 5 (37, 43, 46, 49, 50). */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Template, TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { poolUsage } from '../../../src/domains/storage-space/capacity.ts'
import { diskFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { unknown } from '../../kinds/kind.ts'
import { aFault, removeFault } from '../../support/faults.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  changed,
  emptyDisk,
  GiB,
  type NativeCluster,
  nicOn,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  addedVersion,
  aTemplate,
  fromVersion,
  fromVm,
  postTemplate,
  publish,
  putTemplate,
  readTemplate,
  remove,
  succeeded,
  templates,
  versionsOf,
} from '../../support/templates.ts'

let app: TestApp
let cluster: NativeCluster
let subnet: string
before(async () => {
  app = await startApp({ config: { seed: 'empty' }, limits: { versionsOfTemplate: 4, templates: 1000 } })
  cluster = await aNativeCluster(app)
  subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.40'])
})
after(() => app.close())

const logicalBytes = async (): Promise<number> =>
  (await poolUsage(app, cluster.extId)).containers.get(cluster.containerExtId)?.logicalBytes as number

const aSource = (more: object = {}) =>
  aVm(app, cluster, { name: 'source', disks: [bootDisk(cluster), emptyDisk(3 * GiB)], nics: [nicOn(subnet)], ...more })

const pathsOf = (errors: readonly any[]) => errors.map(({ argumentsMap }) => argumentsMap?.attributePath)

test('a template shows its first version as the active one, with the configuration of the VM and disks of its own', async () => {
  const source = await aSource({ numSockets: 2, serialPorts: [{ index: 2 }] })
  const task = await app.task(await postTemplate(app, { templateVersionSpec: fromVm(source.extId) }))
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal(task.operation, 'kVmTemplateCreate')
  const [{ extId, name, rel }, ...others] = task.entitiesAffected
  assert.deepEqual([name, rel, others], ['golden', 'vmm:content:template', []])
  const { templateVersionSpec: version, ...template } = await readTemplate(app, extId)
  assert.equal(template.createdBy.username, 'admin')
  assert.equal(version.versionName, 'Initial Version')
  assert.equal(version.versionDescription, 'Created from VM: source')
  assert.deepEqual([version.isActiveVersion, version.isGcOverrideEnabled], [true, true])
  assert.deepEqual(version.clusterLocationExtIds, [cluster.extId])
  assert.equal(version.versionSource, undefined)
  const { vmSpec } = version
  assert.equal(vmSpec.numSockets, 2)
  assert.deepEqual(
    [vmSpec.extId, vmSpec.host, vmSpec.powerState, vmSpec.biosUuid],
    [undefined, undefined, undefined, undefined],
  )
  assert.equal(vmSpec.nics[0].networkInfo.subnet.extId, subnet)
  assert.deepEqual(
    [vmSpec.nics[0].backingInfo.macAddress, vmSpec.nics[0].networkInfo.ipv4Config.ipAddress],
    [undefined, undefined],
  )
  assert.deepEqual(
    vmSpec.disks.map((disk: any) => disk.backingInfo.diskSizeBytes),
    [2 * GiB, 3 * GiB],
  )
  for (const [index, disk] of vmSpec.disks.entries()) {
    const below = [disk.backingInfo.diskExtId, source.disks[index].extId].map(
      (extId) => diskFacts(app.world).get(extId)?.parentExtId,
    )
    assert.ok(below[0] !== undefined && below[0] === below[1], String(below))
  }
  assert.deepEqual(await versionsOf(app, extId), [
    (await app.call('GET', `${templates}/${extId}/versions/${version.extId}`)).data,
  ])
})

test('the version of a template outlives its VM, and its bytes are released when the template is deleted', async () => {
  const disks = [...diskFacts(app.world).all().keys()]
  const before = await logicalBytes()
  const source = await aSource()
  const template = await aTemplate(app, source.extId)
  assert.equal((await changed(app, source.extId, 'delete')).status, 'SUCCEEDED')
  assert.ok([...diskFacts(app.world).all().keys()].length > disks.length, 'layers below the version stay')
  await succeeded(app, remove(app, `${templates}/${template.extId}`))
  assert.equal((await app.call('GET', `${templates}/${template.extId}`)).status, 404)
  assert.deepEqual([...diskFacts(app.world).all().keys()], disks)
  assert.equal(await logicalBytes(), before)
  await checkInvariants(app)
})

test('an update without a version changes only the fields that it names', async () => {
  const template = await aTemplate(app, (await aSource()).extId, {}, { templateDescription: 'first' })
  await succeeded(app, putTemplate(app, template.extId, { templateName: 'renamed' }))
  const changedTemplate = await readTemplate(app, template.extId)
  assert.deepEqual([changedTemplate.templateName, changedTemplate.templateDescription], ['renamed', 'first'])
  assert.equal((await versionsOf(app, template.extId)).length, 1)
})

test('an update that adds a version without its name, description or source is refused, naming all of them', async () => {
  const template = await aTemplate(app, (await aSource()).extId)
  const { status, errors } = await putTemplate(app, template.extId, { templateVersionSpec: {} })
  assert.equal(status, 400)
  assert.deepEqual(pathsOf(errors).sort(), [
    'templateVersionSpec/versionDescription',
    'templateVersionSpec/versionName',
    'templateVersionSpec/versionSource',
  ])
  assert.equal((await versionsOf(app, template.extId)).length, 1)
})

test('an added version becomes the active one, publishing the old one flips it, and the active one cannot be deleted', async () => {
  const source = await aSource()
  const template = await aTemplate(app, source.extId)
  const first = template.templateVersionSpec.extId
  const second = await addedVersion(app, template.extId, source.extId)
  const activeOf = async () =>
    (await versionsOf(app, template.extId)).filter(({ isActiveVersion }) => isActiveVersion).map(({ extId }) => extId)
  assert.deepEqual(await activeOf(), [second])
  assert.equal((await readTemplate(app, template.extId)).templateVersionSpec.versionName, 'second')
  await succeeded(app, publish(app, template.extId, first))
  await succeeded(app, publish(app, template.extId, first))
  assert.deepEqual(await activeOf(), [first])
  const path = `${templates}/${template.extId}/versions`
  assert.equal((await remove(app, `${path}/${first}`)).status, 409)
  const task = await succeeded(app, remove(app, `${path}/${second}`))
  assert.deepEqual(
    task.entitiesAffected.map(({ extId }: any) => extId),
    [template.extId, second],
  )
  assert.equal((await versionsOf(app, template.extId)).length, 1)
  await checkInvariants(app)
})

test('a new version that is not to be active does not replace the active one', async () => {
  const source = await aSource()
  const template = await aTemplate(app, source.extId)
  const other = await addedVersion(app, template.extId, source.extId, {
    isActiveVersion: false,
    isGcOverrideEnabled: false,
  })
  const shown = (await versionsOf(app, template.extId)).find(({ extId }) => extId === other)
  assert.deepEqual([shown.isActiveVersion, shown.isGcOverrideEnabled], [false, false])
  assert.equal((await readTemplate(app, template.extId)).templateVersionSpec.extId, template.templateVersionSpec.extId)
})

test('a version can be made from another one with overrides, and both are independent', async () => {
  const template = await aTemplate(app, (await aSource()).extId)
  const first = template.templateVersionSpec
  const second = await addedVersion(
    app,
    template.extId,
    '',
    fromVersion(first.extId, { memorySizeBytes: 4 * GiB, nics: [] }),
  )
  await succeeded(app, remove(app, `${templates}/${template.extId}/versions/${first.extId}`))
  const { vmSpec } = (await readTemplate(app, template.extId)).templateVersionSpec
  assert.equal(second, (await readTemplate(app, template.extId)).templateVersionSpec.extId)
  assert.deepEqual([vmSpec.memorySizeBytes, vmSpec.nics], [4 * GiB, undefined])
  for (const { extId } of vmSpec.disks) assert.ok(diskFacts(app.world).get(extId))
})

test('sources that do not exist, or belong to another template, are refused', async () => {
  const source = await aSource()
  const [one, other] = [await aTemplate(app, source.extId), await aTemplate(app, source.extId)]
  const named = { versionName: 'n', versionDescription: 'd' }
  const statusOf = async (version: object) =>
    (await putTemplate(app, one.extId, { templateVersionSpec: { ...named, ...version } })).status
  assert.equal(await statusOf(fromVm(unknown)), 404)
  assert.equal(await statusOf(fromVersion(unknown)), 404)
  assert.equal(await statusOf(fromVersion(other.templateVersionSpec.extId)), 404)
  const created = await postTemplate(app, { templateVersionSpec: fromVersion(one.templateVersionSpec.extId) })
  assert.equal(created.status, 400)
  assert.equal((await publish(app, one.extId, other.templateVersionSpec.extId)).status, 404)
  const foreign = `${templates}/${one.extId}/versions/${other.templateVersionSpec.extId}`
  assert.equal((await app.call('GET', foreign)).status, 404)
  assert.equal((await remove(app, foreign)).status, 404)
  const misfit = await putTemplate(app, one.extId, {
    templateVersionSpec: { ...named, ...fromVersion(one.templateVersionSpec.extId, { numSockets: 1000 }) },
  })
  assert.deepEqual(
    [misfit.status, pathsOf(misfit.errors)],
    [400, ['templateVersionSpec/versionSource/overrideVmConfig/numSockets']],
  )
})

test('a creation that the hypervisor refuses leaves no template, version or disk', async () => {
  const source = await aSource()
  const counted = async () => [
    diskFacts(app.world).all().size,
    await app.store.count(Template),
    await app.store.count(TemplateVersion),
  ]
  const before = await counted()
  const final = { error: 'CONFLICT', arguments: { fault: 'The container does not answer.' } }
  const fault = await aFault(app, { driverCall: { driver: 'hypervisor', method: 'createDisk' } }, final)
  const task = await app.task(await postTemplate(app, { templateVersionSpec: fromVm(source.extId) }))
  const template = await app.task(await postTemplate(app, { templateVersionSpec: fromVm(source.extId) }))
  await removeFault(app, fault)
  assert.deepEqual([task.status, template.status], ['FAILED', 'FAILED'])
  assert.deepEqual(await counted(), before)
})

test('volume groups of the VM are not captured, and the task warns of them', async () => {
  const group = seedId('volume-group/of-the-template')
  await app.store.transaction((store) =>
    store.insert(VolumeGroup, { extId: group, name: 'kept', clusterReference: cluster.extId } as never),
  )
  await app.drivers.blockStorage.putTarget({
    volumeGroupExtId: group,
    clusterExtId: cluster.extId,
    name: 'kept',
    isSpread: false,
    isFlashPinned: false,
    isBackupTarget: false,
  })
  const backingInfo = { $objectType: 'vmm.v4.ahv.config.ADSFVolumeGroupReference', volumeGroupExtId: group }
  const source = await aSource({ disks: [emptyDisk(), { backingInfo }] })
  const task = await succeeded(app, postTemplate(app, { templateVersionSpec: fromVm(source.extId) }))
  assert.match(task.warnings[0].message, /volume groups of VM source/)
  const { vmSpec } = (await readTemplate(app, task.entitiesAffected[0].extId)).templateVersionSpec
  assert.equal(vmSpec.disks.length, 1)
})

test('the number of versions of a template and of templates is limited', async () => {
  const source = await aSource()
  const template = await aTemplate(app, source.extId)
  for (const versionName of ['2', '3', '4']) await addedVersion(app, template.extId, source.extId, { versionName })
  const { status, errors } = await putTemplate(app, template.extId, {
    templateVersionSpec: { versionName: '5', versionDescription: 'one too many', ...fromVm(source.extId) },
  })
  assert.deepEqual([status, errors[0]?.code], [422, 'VMM-40004'])
})

test('categories of a template count it until it is deleted', async () => {
  const created = await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'tier', value: 'gold' } })
  const category = created.data.extId
  const template = await aTemplate(app, (await aSource()).extId, {}, { categoryExtIds: [category] })
  const countsOf = async () =>
    (await app.call('GET', `/platform/v4.3/config/categories/${category}?$expand=associations`)).data.associations ?? []
  assert.deepEqual(
    (await countsOf()).map(({ resourceType, count }: any) => [resourceType, count]),
    [['VM_TEMPLATE', 1]],
  )
  await succeeded(app, remove(app, `${templates}/${template.extId}`))
  assert.deepEqual(await countsOf(), [])
})

test('hostile names are refused with their paths, and nothing is stored', async () => {
  const source = await aSource()
  const count = await app.store.count(Template)
  for (const templateName of ['../etc', 'a\u0000b', 'x'.repeat(257)]) {
    const { status } = await postTemplate(app, { templateName, templateVersionSpec: fromVm(source.extId) })
    assert.equal(status, 400)
  }
  assert.equal(await app.store.count(Template), count)
})

test('a storage container that holds a version cannot be deleted', async () => {
  const template = await aTemplate(app, (await aSource()).extId)
  const path = `/clustermgmt/v4.2/config/storage-containers/${cluster.containerExtId}`
  const { status, errors } = await remove(app, path)
  assert.equal(status, 409, JSON.stringify(errors))
  assert.match(errors[0]?.message ?? '', /[Tt]emplate/)
  assert.ok(template)
})

test('a creation from a VM and a concurrent deletion of the VM both succeed', async () => {
  const source = await aSource()
  const started = await postTemplate(app, { templateVersionSpec: fromVm(source.extId) })
  const removal = changed(app, source.extId, 'delete')
  assert.equal((await app.task(started)).status, 'SUCCEEDED')
  assert.equal((await removal).status, 'SUCCEEDED')
})

test('of a concurrent deletion and update, the later one fails and leaves nothing', async () => {
  const source = await aSource()
  const template = await aTemplate(app, source.extId)
  const count = await app.store.count(TemplateVersion)
  const removal = await remove(app, `${templates}/${template.extId}`)
  const update = await putTemplate(app, template.extId, {
    templateVersionSpec: { versionName: 'late', versionDescription: 'late', ...fromVm(source.extId) },
  })
  assert.equal((await app.task(removal)).status, 'SUCCEEDED')
  if (update.status === 202) assert.equal((await app.task(update)).status, 'FAILED')
  else assert.equal(update.status, 404)
  assert.equal(await app.store.count(TemplateVersion), count - 1)
  await checkInvariants(app)
})

/** Templates and deployments with a customisation profile. Source: behaviour vmm.md 1.10, 1.14. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import {
  answerFile,
  aProfile,
  of,
  parameters,
  profiles,
  useVmName,
  withParameters,
  withProfile,
} from '../../support/customization-profiles.ts'
import {
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  booted,
  type NativeCluster,
  nicOn,
  readVm,
} from '../../support/native-cluster.ts'
import { sealerFor } from '../../support/sealer.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import {
  act,
  aTemplate,
  fromVersion,
  fromVm,
  postTemplate,
  putTemplate,
  readTemplate,
  remove,
  succeeded,
  templates,
  versionsOf,
} from '../../support/templates.ts'

let app: TestApp
let cluster: NativeCluster
let source: string
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app, { image: 'windows-2022' })
  const subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.200'])
  source = (await aVm(app, cluster, { name: 'win', disks: [bootDisk(cluster)], nics: [nicOn(subnet)] })).extId
})
after(() => app.close())

const deploy = (extId: string, overrideVmConfigMap: object = {}, numberOfVms = 1) =>
  act(app, extId, 'deploy', { clusterReference: cluster.extId, numberOfVms, overrideVmConfigMap })
const deployed = async (extId: string, overrides: object = {}): Promise<any> => {
  const task = await succeeded(app, deploy(extId, { 0: { name: 'web-1', ...overrides } }))
  return readVm(app, task.entitiesAffected[1].extId)
}
const settings = async (extId: string): Promise<object> =>
  (await app.store.transaction(async (store) => (await store.get(Vm, extId)) as any)).guestSettings
const withProfileOf = (extId: string) => ({ guestCustomizationProfile: { extId } })
const pathsOf = ({ status, errors }: CallResult): unknown[] => {
  assert.equal(status, 400, JSON.stringify(errors))
  return errors.map(({ argumentsMap }) => argumentsMap?.['attributePath'])
}
const fixedName = (value: string) => parameters({ generalSettings: { computerName: of('ComputerName', { value }) } })

test('a version with a profile stages its settings on each deployed VM, which its first boot uses', async () => {
  const profile = await aProfile(app)
  for (const version of [withProfileOf(profile), fromVm(source, withProfileOf(profile))]) {
    const template = await aTemplate(app, source, version)
    assert.equal(template.templateVersionSpec.guestCustomizationProfile.extId, profile)
    const vm = await deployed(template.extId)
    assert.equal(vm.vmGuestCustomizationStatus, 'PENDING')
    assert.deepEqual(await settings(vm.extId), { computerName: 'web-1' })
    await booted(app, vm.extId)
    assert.equal((await readVm(app, vm.extId)).vmGuestCustomizationStatus, undefined)
  }
})

test('a profile that a version names cannot be deleted until the template is gone', async () => {
  const profile = await aProfile(app)
  const { extId } = await aTemplate(app, source, withProfileOf(profile))
  assert.deepEqual(
    [(await remove(app, `${profiles}/${profile}`)).status, (await app.call('GET', `${profiles}/${profile}`)).status],
    [409, 200],
  )
  await succeeded(app, remove(app, `${templates}/${extId}`))
  assert.equal((await app.task(await remove(app, `${profiles}/${profile}`))).status, 'SUCCEEDED')
})

test('a deployment may name another profile, replace settings of the profile of the version, or send texts instead', async () => {
  const [profile, other] = [
    await aProfile(app),
    await aProfile(app, answerFile('<a><ComputerName>file</ComputerName></a>')),
  ]
  const { extId } = await aTemplate(app, source, withProfileOf(profile))
  const named = await deployed(extId, withProfile(other))
  assert.deepEqual(await settings(named.extId), { computerName: 'file' })
  const replaced = await deployed(extId, withProfile(profile, fixedName('mine')))
  assert.deepEqual(await settings(replaced.extId), { computerName: 'mine' })
  const metadata = Buffer.from('instance-id: x').toString('base64')
  const guestCustomization = { config: { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata } }
  const texts = await deployed(extId, { guestCustomization })
  assert.deepEqual([texts.vmGuestCustomizationStatus, await settings(texts.extId)], ['PENDING', undefined])
})

test('a version made from another version keeps its profile and override, and passwords are stored sealed', async () => {
  const profile = await aProfile(app, withParameters({ generalSettings: { computerName: of('UseVmName') } }))
  const { extId, templateVersionSpec } = await aTemplate(app, source)
  const override = parameters({
    generalSettings: {
      computerName: of('ComputerName', { value: 'kept' }),
      administratorPassword: of('AdministratorPassword', { value: 'S3.overridden' }),
    },
  })
  const named = { versionName: 'second', versionDescription: 'with a profile' }
  const second = { ...named, ...fromVersion(templateVersionSpec.extId, withProfile(profile, override)) }
  await succeeded(app, putTemplate(app, extId, { templateVersionSpec: second }))
  const active = (await readTemplate(app, extId)).templateVersionSpec
  const third = { ...named, versionName: 'third', ...fromVersion(active.extId, { memorySizeBytes: 2 * 1024 ** 3 }) }
  await succeeded(app, putTemplate(app, extId, { templateVersionSpec: third }))
  const shown = await readTemplate(app, extId)
  assert.equal(shown.templateVersionSpec.guestCustomizationProfile.extId, profile)
  assert.doesNotMatch(JSON.stringify([shown, await versionsOf(app, extId)]), /S3\.overridden/)
  const stored: any = await app.store.get(TemplateVersion, shown.templateVersionSpec.extId)
  assert.doesNotMatch(JSON.stringify(stored), /S3\.overridden/)
  const label = `TemplateVersion/${stored.extId}/profileOverride`
  assert.match(sealerFor(app).open(stored.profileOverride.$sealed, label), /S3\.overridden/)
  const vm = await deployed(extId)
  assert.deepEqual(await settings(vm.extId), { computerName: 'kept' })
})

test('settings that are missing or do not fit are refused for each VM with their paths, and no VM is made', async () => {
  const [profile, asking] = [
    await aProfile(app, withParameters(useVmName)),
    await aProfile(
      app,
      withParameters({
        generalSettings: { computerName: of('MustProvideDuringDeployment') },
        networkSettings: { nicConfigList: [{ ipv4Config: of('MustProvideDuringDeployment') }] },
      }),
    ),
  ]
  const { extId } = await aTemplate(app, source, withProfileOf(asking))
  const at = 'guestCustomizationProfileConfig/configOverrideSpec/customization'
  assert.deepEqual(pathsOf(await deploy(extId)), [
    `overrideVmConfigMap/0/${at}/generalSettings/computerName`,
    `overrideVmConfigMap/0/${at}/networkSettings/nicConfigList[0]/ipv4Config`,
  ])
  const same = { 0: { name: 'twin', ...withProfile(profile) }, 1: { name: 'Twin', ...withProfile(profile) } }
  assert.deepEqual(pathsOf(await deploy(extId, same, 2)), ['overrideVmConfigMap/1'])
  const file = of('AnswerFileOverrideSpec', { unattendXml: '<a/>' })
  assert.deepEqual(pathsOf(await deploy(extId, { 0: { name: 'web', ...withProfile(profile, file) } })), [
    `overrideVmConfigMap/0/${at}`,
  ])
  const unknown = await deploy(extId, { 0: withProfile(randomUUID()) })
  assert.deepEqual([unknown.status, unknown.errors[0]?.code], [404, 'VMM-20005'])
})

test('two customisations of one body, a reference without an id, and an override that the version forbids are 400', async () => {
  const profile = await aProfile(app)
  const guestCustomization = { config: { $objectType: 'vmm.v4.ahv.config.CloudInit' } }
  const post = (version: object) => postTemplate(app, { templateVersionSpec: { ...fromVm(source), ...version } })
  assert.deepEqual(pathsOf(await post({ ...withProfileOf(profile), ...fromVm(source, { guestCustomization }) })), [
    'templateVersionSpec/versionSource/guestCustomization',
  ])
  assert.deepEqual(pathsOf(await post({ guestCustomizationProfile: {} })), [
    'templateVersionSpec/guestCustomizationProfile/extId',
  ])
  assert.equal((await post(withProfileOf(randomUUID()))).status, 404)
  const { extId } = await aTemplate(app, source, { isGcOverrideEnabled: false })
  assert.deepEqual(pathsOf(await deploy(extId, { 0: { name: 'web', ...withProfile(profile) } })), [
    'overrideVmConfigMap/0/guestCustomizationProfileConfig',
  ])
  const open = await aTemplate(app, source)
  const both = { name: 'web', guestCustomization, ...withProfile(profile) }
  assert.deepEqual(pathsOf(await deploy(open.extId, { 0: both })), [
    'overrideVmConfigMap/0/guestCustomizationProfileConfig',
  ])
})

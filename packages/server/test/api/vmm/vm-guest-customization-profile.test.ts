/** Customisation profiles, clones with them, and customizeGuestVm. Source: behaviour vmm.md 1.0, 1.1, 1.14, 2, 3.3, 5 (43). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import {
  answerFile,
  aProfile,
  of,
  parameters,
  profileBody,
  profiles,
  useVmName,
  withParameters,
  withProfile,
} from '../../support/customization-profiles.ts'
import { readTools, toolsDone } from '../../support/guest-tools.ts'
import { aUser } from '../../support/identities.ts'
import {
  act,
  aNativeCluster,
  aSubnet,
  aVm,
  bootDisk,
  booted,
  changed,
  type NativeCluster,
  nicOn,
  readVm,
} from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
let subnet: string
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app, { image: 'windows-2022' })
  subnet = await aSubnet(app, cluster, ['10.0.0.10', '10.0.0.200'])
})
after(() => app.close())

const read = async (extId: string): Promise<any> => (await app.call('GET', `${profiles}/${extId}`)).data
const post = (body: object) => app.call('POST', profiles, { requestId: randomUUID(), body })
const put = async (extId: string, body: object): Promise<any> => {
  const ifMatch = (await app.call('GET', `${profiles}/${extId}`)).etag as string
  return app.call('PUT', `${profiles}/${extId}`, { requestId: randomUUID(), ifMatch, body })
}
const pathsOf = ({ status, errors }: CallResult): unknown[] => {
  assert.equal(status, 400)
  return errors.map(({ argumentsMap }) => argumentsMap?.['attributePath'])
}
const aVmWithNic = async (body: object = {}): Promise<any> =>
  aVm(app, cluster, { name: 'win', disks: [bootDisk(cluster)], nics: [nicOn(subnet)], ...body })
async function clone(source: string, body: object): Promise<{ task: any; vm: any }> {
  const task = await app.task(await act(app, source, 'clone', { name: 'copy', ...body }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return { task, vm: await readVm(app, task.entitiesAffected[1].extId) }
}
const learned = async (extId: string): Promise<unknown> =>
  (await readVm(app, extId)).nics[0].networkInfo.ipv4Info?.learnedIpAddresses[0].value
const secrets = { administratorPassword: 'S3.administrator', windowsProductKey: 'S3KEY-AAAAA-BBBBB' }
const inDomain = {
  workgroupOrDomainInfo: of('DomainSettings', {
    credentials: { domainName: 'corp.example', username: 'joiner', password: 'S3.domainjoin' },
  }),
}

test('a profile is created, listed, replaced and deleted by tasks', async () => {
  const body = { ...profileBody(), description: 'first' }
  const task = await app.task(await post(body))
  assert.deepEqual([task.operation, task.status], ['CreateVmGuestCustomizationProfile', 'SUCCEEDED'])
  const [{ extId, rel }] = task.entitiesAffected
  assert.equal(rel, 'vmm:ahv:config:vm-guest-customization-profile')
  const made = await read(extId)
  assert.deepEqual([made.name, made.description, made.config], [body.name, 'first', body.config])
  assert.ok(made.createTime && made.updateTime && made.createdBy.extId && made.updatedBy.extId)
  const filter = encodeURIComponent(`name eq '${body.name}'`)
  assert.equal((await app.call('GET', `${profiles}?$filter=${filter}`)).data.length, 1)
  assert.equal((await app.task(await put(extId, { name: body.name, config: body.config }))).status, 'SUCCEEDED')
  assert.equal((await read(extId)).description, undefined)
  const removal = await app.call('DELETE', `${profiles}/${extId}`, { requestId: randomUUID() })
  assert.equal((await app.task(removal)).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', `${profiles}/${extId}`)).status, 404)
})

test('the name of a profile is unique without regard to case', async () => {
  const body = profileBody()
  await app.task(await post(body))
  const other = await aProfile(app)
  const upper = { ...body, name: body.name.toUpperCase() }
  assert.deepEqual([(await post(upper)).status, (await post(upper)).errors[0]?.code], [409, 'VMM-30105'])
  assert.equal((await put(other, upper)).errors[0]?.code, 'VMM-30105')
})

test('settings that Windows cannot have are refused with their paths', async () => {
  const faulty = async (given: object, path: RegExp): Promise<void> => {
    const { status, errors } = await post(profileBody(withParameters(given)))
    assert.equal(status, 400)
    assert.match(JSON.stringify(errors), path)
  }
  await faulty({ localeSettings: { uiLanguage: 'english' } }, /uiLanguage/)
  await faulty({ workgroupOrDomainInfo: of('Workgroup', { name: 'a-workgroup-too-long' }) }, /name/)
  await faulty({ generalSettings: { autoLogonSettings: { logonCount: 1000 } } }, /logonCount/)
  await faulty({ firstLogonCommands: Array.from({ length: 65 }, () => 'dir') }, /firstLogonCommands/)
  const dnsConfig = { preferredDnsServerAddress: '10.0.0.256' }
  const nicConfigList = [{ ipv4Config: of('UseDhcp'), dnsConfig }]
  await faulty({ networkSettings: { nicConfigList } }, /preferredDnsServerAddress/)
  const credentials = { domainName: 'corp.example', username: 'joiner' }
  await faulty({ workgroupOrDomainInfo: of('DomainSettings', { credentials }) }, /credentials\/password/)
})

test('an answer file is well-formed XML of at most 32,000 characters, and errors never quote it', async () => {
  const broken = await post(profileBody(answerFile('<unattend>S3.infile')))
  assert.deepEqual(pathsOf(broken), ['config/customization/unattendXml'])
  assert.ok(!JSON.stringify(broken.errors).includes('S3.infile'))
  assert.equal((await post(profileBody(answerFile(`<a>${'x'.repeat(32_000)}</a>`)))).status, 400)
  assert.equal((await post(profileBody(answerFile('<unattend/>')))).status, 202)
})

test('the text of an answer file is shown only to callers who may update the profile', async () => {
  const extId = await aProfile(app, answerFile('<unattend/>'))
  assert.equal((await read(extId)).config.customization.unattendXml, '<unattend/>')
  const as = await aUser(app, ['Platform Viewer'])
  const { status, data } = await app.call('GET', `${profiles}/${extId}`, { as })
  assert.equal(status, 200)
  assert.equal(data.config.customization.unattendXml, undefined)
  const listed = (await app.call('GET', `${profiles}?$limit=100`, { as })).data
  assert.ok(!JSON.stringify(listed).includes('<unattend/>'))
})

test('passwords and keys are never shown, and a PUT without them, or with the mask, keeps them', async () => {
  const settings = { generalSettings: { ...useVmName.generalSettings, ...secrets }, ...inDomain }
  const extId = await aProfile(app, withParameters(settings))
  const shown = await read(extId)
  assert.ok(!JSON.stringify(shown).includes('S3'))
  for (const administratorPassword of [undefined, '********', '']) {
    const { generalSettings, ...rest } = shown.config.customization
    const config = withParameters({ ...rest, generalSettings: { ...generalSettings, administratorPassword } })
    const task = await app.task(await put(extId, { name: shown.name, config }))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    // The clone needs the kept password of the domain.
    const { vm } = await clone((await aVmWithNic()).extId, withProfile(extId))
    assert.equal(vm.vmGuestCustomizationStatus, 'PENDING')
    assert.ok(!JSON.stringify(vm).includes('S3'))
  }
})

test('a clone with a profile stages its settings, which the first boot uses, even when the profile is deleted before', async () => {
  const extId = await aProfile(app)
  const { task, vm } = await clone((await aVmWithNic()).extId, { name: 'web-7', ...withProfile(extId) })
  assert.equal(task.warnings, undefined)
  assert.deepEqual([vm.vmGuestCustomizationStatus, vm.guestCustomization], ['PENDING', undefined])
  assert.equal(vm.guestCustomizationProfileConfig, undefined)
  // The staged copy does not need the profile any more.
  await app.task(await app.call('DELETE', `${profiles}/${extId}`, { requestId: randomUUID() }))
  await booted(app, vm.extId)
  assert.equal((await readVm(app, vm.extId)).vmGuestCustomizationStatus, undefined)
})

test('an override replaces, drops or keeps each setting of the profile', async () => {
  const mustProvide = { computerName: of('MustProvideDuringDeployment') }
  const nicConfigList = [{ ipv4Config: of('MustProvideDuringDeployment') }]
  const extId = await aProfile(
    app,
    withParameters({
      generalSettings: { ...mustProvide, ...secrets },
      networkSettings: { nicConfigList },
      ...inDomain,
    }),
  )
  const source = (await aVmWithNic()).extId
  const at = 'guestCustomizationProfileConfig/configOverrideSpec/customization'
  const refused = async (override?: object): Promise<unknown[]> =>
    pathsOf(await act(app, source, 'clone', { name: 'copy', ...withProfile(extId, override) }))
  const both = [`${at}/generalSettings/computerName`, `${at}/networkSettings/nicConfigList[0]/ipv4Config`]
  assert.deepEqual(await refused(), both)
  const named = (value: string) => ({ computerName: of('ComputerName', { value }) })
  const fixed = (ipAddress?: object) => ({
    nicConfigList: [{ ipv4Config: of('NicIpv4ConfigOverrideSpec', { ipAddress }) }],
  })
  assert.deepEqual(await refused(parameters({ generalSettings: named('1234') })), both)
  assert.deepEqual(await refused(parameters({ generalSettings: named('web_1') })), both)
  assert.deepEqual(
    await refused(parameters({ generalSettings: named('web-1'), networkSettings: fixed() })),
    both.slice(1),
  )
  const good = parameters({
    generalSettings: {
      ...named('web-1'),
      administratorPassword: of('DiscardSettings'),
      timezone: of('Timezone', { value: 'UTC' }),
    },
    networkSettings: fixed({ value: '10.0.0.77' }),
    workgroupOrDomainInfo: of('DiscardSettings'),
    firstLogonCommands: [],
  })
  const { vm } = await clone(source, withProfile(extId, good))
  await booted(app, vm.extId)
  // The guest uses the static address, not the reserved one.
  assert.equal(await learned(vm.extId), '10.0.0.77')
})

test('a computer name that is derived from the name of the VM must be valid for Windows', async () => {
  const extId = await aProfile(app)
  const source = (await aVmWithNic()).extId
  const refused = await act(app, source, 'clone', { name: 'a name with blanks', ...withProfile(extId) })
  assert.deepEqual(pathsOf(refused), [
    'guestCustomizationProfileConfig/configOverrideSpec/customization/generalSettings/computerName',
  ])
})

test('an override of the other kind, an unknown profile and one beside guestCustomization are refused', async () => {
  const extId = await aProfile(app)
  const source = (await aVmWithNic()).extId
  const file = of('AnswerFileOverrideSpec', { unattendXml: '<unattend/>' })
  const status = async (body: object): Promise<number> => (await act(app, source, 'clone', body)).status
  assert.equal(await status(withProfile(extId, file)), 400)
  const withFile = await aProfile(app, answerFile('<unattend/>'))
  assert.equal(await status(withProfile(withFile, parameters({}))), 400)
  assert.equal(await status(withProfile(withFile, of('AnswerFileOverrideSpec', { unattendXml: '<open>' }))), 400)
  assert.equal(await status(withProfile(withFile, file)), 202)
  assert.equal(await status(withProfile(randomUUID())), 404)
  const config = { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: 'eA==' }
  assert.equal(await status({ ...withProfile(extId), guestCustomization: { config } }), 400)
})

test('settings of more NICs than the VM has, and a guest that is not Windows, are warnings of the task', async () => {
  const nicConfigList = [{ ipv4Config: of('UseDhcp') }, { ipv4Config: of('UseDhcp') }]
  const extId = await aProfile(app, withParameters({ ...useVmName, networkSettings: { nicConfigList } }))
  const { task } = await clone((await aVmWithNic()).extId, withProfile(extId))
  assert.equal(task.warnings.length, 1)
  const linux = await aNativeCluster(app)
  const vm = await aVm(app, linux, { disks: [bootDisk(linux)] })
  const other = await clone(vm.extId, withProfile(extId))
  assert.equal(other.task.warnings.length, 2)
  assert.equal(other.vm.vmGuestCustomizationStatus, 'PENDING')
})

const cloudInit = (metadata: string) => ({
  config: { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: Buffer.from(metadata).toString('base64') },
})
const sysprep = {
  config: {
    $objectType: 'vmm.v4.ahv.config.Sysprep',
    sysprepScript: { $objectType: 'vmm.v4.ahv.config.Unattendxml', value: Buffer.from('<a/>').toString('base64') },
  },
}

test('a customisation of an OFF VM is staged, replaces a staged one, and runs in the next boot', async () => {
  const vm = await aVmWithNic()
  for (const text of ['instance-id: S3.first', 'instance-id: S3.second']) {
    const task = await app.task(await act(app, vm.extId, 'customize-guest', cloudInit(text)))
    assert.deepEqual([task.operation, task.status, task.warnings], ['CustomizeGuest', 'SUCCEEDED', undefined])
    assert.ok(!JSON.stringify(task).includes(Buffer.from(text).toString('base64')))
    const staged = await readVm(app, vm.extId)
    assert.deepEqual([staged.vmGuestCustomizationStatus, staged.guestCustomization], ['PENDING', undefined])
  }
  await changed(app, vm.extId, 'power-on')
  assert.equal((await readVm(app, vm.extId)).cdRoms[0].isoType, 'GUEST_CUSTOMIZATION')
  await app.clock.advance(1000)
  assert.equal((await readVm(app, vm.extId)).vmGuestCustomizationStatus, undefined)
})

test('a VM that is ON refuses a customisation; a body without one, or not in base64, is refused with its path', async () => {
  const vm = await aVmWithNic()
  assert.deepEqual(pathsOf(await act(app, vm.extId, 'customize-guest', {})), ['config'])
  const text = { config: { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: 'not base64!' } }
  assert.deepEqual(pathsOf(await act(app, vm.extId, 'customize-guest', text)), ['config/metadata'])
  await booted(app, vm.extId)
  const refused = await act(app, vm.extId, 'customize-guest', cloudInit('x'))
  assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'VMM-30100'])
})

test('a Windows customisation of a VM without Windows is staged with a warning', async () => {
  const linux = await aNativeCluster(app)
  const vm = await aVm(app, linux, { disks: [bootDisk(linux)] })
  const task = await app.task(await act(app, vm.extId, 'customize-guest', sysprep))
  assert.deepEqual([task.status, task.warnings.length], ['SUCCEEDED', 1])
  assert.equal((await readVm(app, vm.extId)).vmGuestCustomizationStatus, 'PENDING')
  const windows = await aVmWithNic()
  assert.equal((await app.task(await act(app, windows.extId, 'customize-guest', sysprep))).warnings, undefined)
})

test('a customised guest reports its computer name through its tools', async () => {
  const extId = await aProfile(app)
  const source = await aVmWithNic()
  await booted(app, source.extId)
  const credential = { username: 'Administrator', password: 'S3.guestlogin' }
  assert.equal((await toolsDone(app, source.extId, 'install', { credential })).status, 'SUCCEEDED')
  const general = { computerName: of('ComputerName', { value: 'FRONT-9' }) }
  const { vm } = await clone(source.extId, withProfile(extId, parameters({ generalSettings: general })))
  await booted(app, vm.extId)
  const { guestInfo, isReachable } = await readTools(app, vm.extId)
  assert.deepEqual([isReachable, guestInfo.dnsName.value], [true, 'front-9.local'])
})

test('two guests with one static address on one subnet learn no address until one of them is stopped', async () => {
  const mustProvide = { nicConfigList: [{ ipv4Config: of('MustProvideDuringDeployment') }] }
  const extId = await aProfile(app, withParameters({ ...useVmName, networkSettings: mustProvide }))
  const source = (await aVmWithNic()).extId
  const fixed = {
    nicConfigList: [{ ipv4Config: of('NicIpv4ConfigOverrideSpec', { ipAddress: { value: '10.0.0.88' } }) }],
  }
  const override = withProfile(extId, parameters({ networkSettings: fixed }))
  const { vm: first } = await clone(source, { ...override, name: 'first' })
  await booted(app, first.extId)
  assert.equal(await learned(first.extId), '10.0.0.88')
  const { vm: second } = await clone(source, { ...override, name: 'second' })
  await booted(app, second.extId)
  assert.deepEqual([await learned(first.extId), await learned(second.extId)], [undefined, undefined])
  // A reserved address that another guest has taken as its own clashes too.
  assert.equal((await changed(app, second.extId, 'power-off')).status, 'SUCCEEDED')
  assert.equal(await learned(first.extId), '10.0.0.88')
  const reserved = { ipv4Config: { shouldAssignIp: true, ipAddress: { value: '10.0.0.88' } } }
  const { extId: third } = await aVmWithNic({ nics: [nicOn(subnet, reserved)] })
  await booted(app, third)
  assert.deepEqual([await learned(first.extId), await learned(third)], [undefined, undefined])
})

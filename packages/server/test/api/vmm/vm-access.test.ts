/** Who may do what with VMs. Source: behaviour vmm.md 2, 5; conventions.md 16. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { install, tools } from '../../support/guest-tools.ts'
import { aUser } from '../../support/identities.ts'
import {
  act,
  aNativeCluster,
  aSubnet,
  aVm,
  change,
  changed,
  emptyDisk,
  type NativeCluster,
  nicOn,
  postVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aUser as aPerson, aRole, grant } from '../iam/people.ts'

let app: TestApp
let cluster: NativeCluster
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

const vms = '/vmm/v4.2/ahv/config/vms'

test('a Virtual Machine Viewer reads everything and gets 403 without a task for every mutation', async () => {
  const as = await aUser(app, ['Virtual Machine Viewer'])
  const subnet = await aSubnet(app, cluster)
  const vm = await aVm(app, cluster, { disks: [emptyDisk()], nics: [nicOn(subnet)], cdRoms: [{}] })
  const parts = [`disks/${vm.disks[0].extId}`, `nics/${vm.nics[0].extId}`, `cd-roms/${vm.cdRoms[0].extId}`]
  for (const path of ['', 'disks', 'nics', 'cd-roms', 'guest-tools', ...parts]) {
    assert.equal((await app.call('GET', `${vms}/${vm.extId}/${path}`.replace(/\/$/, ''), { as })).status, 200, path)
  }
  assert.ok(((await app.call('GET', vms, { as })).total ?? 0) > 0)
  const before = (await app.call('GET', '/platform/v4.3/config/tasks')).total
  assert.equal((await postVm(app, cluster, {}, { as })).status, 403)
  for (const what of [
    'power-on',
    'power-off',
    'power-cycle',
    'reset',
    'reboot',
    'shutdown',
    'delete',
    { put: vm },
  ] as const) {
    assert.equal((await change(app, vm.extId, what, { as })).status, 403, JSON.stringify(what).slice(0, 20))
  }
  for (const action of ['guest-reboot', 'guest-shutdown', 'customize-guest'])
    assert.equal((await act(app, vm.extId, action, {}, { as })).status, 403, action)
  for (const action of ['PUT', 'insert-iso', 'install', 'upgrade', 'uninstall'] as const) {
    const body = action === 'install' ? install : action === 'uninstall' ? undefined : {}
    assert.equal((await tools(app, vm.extId, action, body, { as })).status, 403, action)
  }
  assert.equal((await app.call('GET', '/platform/v4.3/config/tasks')).total, before)
})

test('a VM without a cluster is not created on one that its creator may not see', async () => {
  const user = await aPerson(app)
  await grant(app, { id: await aRole(app, ['Create_New_Virtual_Machine']) }, user.extId)
  const create = () => app.call('POST', vms, { as: user.as, requestId: randomUUID(), body: { name: 'anywhere' } })
  const refused = await create()
  assert.deepEqual([refused.status, refused.errors[0]?.argumentsMap?.['attributePath']], [400, 'cluster/extId'])
  await grant(app, { id: await aRole(app, ['View_Cluster']) }, user.extId)
  assert.equal((await app.task(await create())).status, 'SUCCEEDED')
})

test('a Virtual Machine Viewer reads external VMs and statistics, and power actions on external VMs are refused without a task', async () => {
  const demo = await startApp()
  const as = await aUser(demo, ['Virtual Machine Viewer'])
  const [web, erp] = [seedId('vm/web-01'), seedId('extern-vm/legacy-erp')]
  const end = new Date(demo.clock.now()).toISOString()
  const span = `$startTime=${new Date(demo.clock.now() - 60_000).toISOString()}&$endTime=${end}`
  const nic = (await demo.call('GET', `${vms}/${web}`)).data.nics[0].extId
  for (const path of [
    '/vmm/v4.2/extern/config/vms',
    `/vmm/v4.2/extern/config/vms/${erp}`,
    `/vmm/v4.2/ahv/stats/vms?${span}`,
    `/vmm/v4.2/ahv/stats/vms/${web}?${span}`,
    `/vmm/v4.2/ahv/stats/vms/${web}/nics/${nic}?${span}`,
    `/vmm/v4.2/extern/stats/vms?${span}`,
    `/vmm/v4.2/extern/stats/vms/${erp}?${span}`,
  ])
    assert.equal((await demo.call('GET', path, { as })).status, 200, path)
  const before = (await demo.call('GET', '/platform/v4.3/config/tasks')).total
  const { etag } = await demo.call('GET', `/vmm/v4.2/extern/config/vms/${erp}`)
  for (const action of ['power-on', 'power-off', 'reset', 'suspend', 'guest-reboot', 'guest-shutdown']) {
    const path = `/vmm/v4.2/extern/config/vms/${erp}/$actions/${action}`
    const sent = { requestId: randomUUID(), ifMatch: etag as string, as }
    assert.equal((await demo.call('POST', path, sent)).status, 403, action)
  }
  assert.equal((await demo.call('GET', '/platform/v4.3/config/tasks')).total, before)
  await demo.close()
})

test('a Virtual Machine Operator powers VMs on and off, but cannot create or delete them', async () => {
  const as = await aUser(app, ['Virtual Machine Operator'])
  const vm = await aVm(app, cluster)
  assert.equal((await changed(app, vm.extId, 'power-on', { as })).status, 'SUCCEEDED')
  assert.equal((await changed(app, vm.extId, 'power-off', { as })).status, 'SUCCEEDED')
  assert.equal((await change(app, vm.extId, 'delete', { as })).status, 403)
  assert.equal((await postVm(app, cluster, {}, { as })).status, 403)
})

test('a Virtual Machine Admin creates VMs and owns them', async () => {
  const as = await aUser(app, ['Virtual Machine Admin'])
  const started = await postVm(app, cluster, {}, { as })
  assert.equal(started.status, 202)
  const task = await app.task(started)
  const { ownershipInfo } = (await app.call('GET', `${vms}/${task.entitiesAffected[0].extId}`)).data
  assert.equal(ownershipInfo.owner.extId, task.ownedBy.extId)
})

test('an unknown VM is 404 even without an ETag, and a mutation without a request id is 400', async () => {
  const missing = await app.call('POST', `${vms}/${randomUUID()}/$actions/power-on`, { requestId: randomUUID() })
  assert.deepEqual([missing.status, missing.errors[0]?.code], [404, 'VMM-20005'])
  const vm = await aVm(app, cluster)
  const ifMatch = await tagOf(app, vm.extId)
  assert.equal((await app.call('POST', `${vms}/${vm.extId}/$actions/power-on`, { ifMatch })).status, 400)
})

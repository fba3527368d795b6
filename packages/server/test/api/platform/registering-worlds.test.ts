/**
 * Worlds of one process register each other over their own interface. Source: behaviour platform.md 4; DESIGN C, D;
 * decision registering-another-hyperplane.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { adminPassword, beginning, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { worlds } from '../../support/worlds.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty', http: false, allowAddress: ['127.0.0.0/8'] } })
  await app.listen()
})
after(() => app?.close())

async function newWorld(name: string, settings: object): Promise<void> {
  const clock = { mode: 'frozen', startTime: new Date(beginning).toISOString() }
  const made = await app.call('POST', worlds, { body: { name, clock, rateLimits: 'off', ...settings } })
  assert.equal(made.status, 201, JSON.stringify(made.errors))
}

const own = async (world: string): Promise<{ extId: string; name: string; etag: string }> => {
  const { data } = await app.call('GET', '/platform/v4.3/config/domain-managers', { world })
  const { extId, config } = data[0]
  const { etag } = await app.call('GET', `/platform/v4.3/config/domain-managers/${extId}`, { world })
  return { extId, name: config.name, etag: etag as string }
}

/** Names of the managers that are registered in this world. */
const registeredIn = async (world: string): Promise<string[]> => {
  const { extId } = await own(world)
  const path = `/platform/v4.3/management/domain-managers/${extId}/registrations`
  const { data } = await app.call('GET', path, { world })
  return data
    .filter(({ remoteClusterDetails }: any) => remoteClusterDetails.clusterType === 'DOMAIN_MANAGER')
    .map(({ remoteClusterDetails }: any) => remoteClusterDetails.name)
}

async function act(world: string, action: 'register' | 'unregister', body: object): Promise<CallResult> {
  const { extId, etag } = await own(world)
  const path = `/platform/v4.3/management/domain-managers/${extId}/$actions/${action}`
  return app.call('POST', path, { world, body, ifMatch: etag, requestId: randomUUID() })
}

/** The task when it, and everything else in this world, has ended. */
async function ended(world: string, started: CallResult): Promise<any> {
  assert.equal(started.status, 202, JSON.stringify(started.errors))
  const instance = await app.worlds.get(world)?.instance()
  await instance?.runner.untilEnded(started.data.extId)
  return (await app.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`, { world })).data
}

const register = (world: string, fqdn: string): Promise<CallResult> =>
  act(world, 'register', {
    remoteCluster: {
      $objectType: 'platform.v4.management.DomainManagerRemoteClusterSpec',
      remoteCluster: {
        address: { fqdn: { value: fqdn } },
        credentials: { authentication: { username: 'admin', password: adminPassword } },
      },
      cloudType: 'ONPREM_CLOUD',
    },
  })

/** The two register each other, and the one that was asked ends it. */
async function becomePeersAndPart(near: string, far: string): Promise<void> {
  const [nearOwn, farOwn] = [await own(near), await own(far)]
  assert.notEqual(nearOwn.extId, farOwn.extId)
  assert.notEqual(nearOwn.name, farOwn.name)

  const task = await ended(near, await register(near, `${far}.localhost`))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.deepEqual([await registeredIn(near), await registeredIn(far)], [[farOwn.name], [nearOwn.name]])

  const parted = await ended(far, await act(far, 'unregister', { extId: nearOwn.extId }))
  assert.equal(parted.status, 'SUCCEEDED', JSON.stringify(parted.errorMessages))
  assert.deepEqual([await registeredIn(near), await registeredIn(far)], [[], []])
}

for (const preset of ['empty', 'tiny']) {
  test(`two worlds of the preset ${preset} register each other, and unregister`, async () => {
    const [near, far] = [`${preset}-near`, `${preset}-far`]
    await newWorld(near, { preset })
    await newWorld(far, { preset })
    await becomePeersAndPart(near, far)
    // A second time, and from the other side.
    await becomePeersAndPart(far, near)
  })
}

test('a world registers the world default, by a name that its seed gives it', async () => {
  await newWorld('branch', { seed: 'extends: tiny\nmanager: { name: branch-office }\n' })
  assert.equal((await own('branch')).name, 'branch-office')
  await becomePeersAndPart('branch', 'default')
})

test('a world reads the networks of a world that it registered', async () => {
  await newWorld('main', { preset: 'tiny' })
  await newWorld('recovery', { preset: 'demo' })
  assert.equal((await ended('main', await register('main', 'recovery.localhost'))).status, 'SUCCEEDED')
  const { extId } = await own('recovery')
  const shown = async (sort: string): Promise<any[]> => {
    const path = `/networking/v4.3/config/clusters/${extId}/remote-${sort}`
    const { data, errors } = await app.call('GET', path, { world: 'main' })
    assert.deepEqual(errors, [])
    return data
  }
  const subnets = await shown('subnets')
  assert.deepEqual(subnets.map(({ name }) => name).sort(), ['db', 'vlan-100-app', 'web'])
  assert.equal(subnets.find(({ name }) => name === 'web').ipPrefix, '192.168.10.0/24')
  const [gateway] = await shown('vtep-gateways')
  assert.deepEqual(
    [gateway.name, gateway.isLocal, gateway.isActive, gateway.vxlanPort],
    ['vtep-prod', false, true, 4789],
  )
  const [connection] = await shown('vpn-connections')
  assert.deepEqual([connection.name, connection.ipsecTunnelStatus.state], ['branch-1', 'UP'])
})

test('a seed that calls this manager and another one the same is refused', async () => {
  const seed = 'extends: tiny\nmanager: { name: twin }\ndomainManagers: [{ name: twin, address: 10.46.1.9 }]\n'
  const refused = await app.call('POST', worlds, { body: { name: 'twins', seed } })
  assert.equal(refused.status, 400)
  assert.match(refused.errors[0]?.message ?? '', /domainManagers\[0\]: there is one already with the same config\/name/)
})

test('a reset leaves the manager the id and the name that it had', async () => {
  await newWorld('again', { preset: 'tiny' })
  const before = await own('again')
  assert.equal((await app.call('POST', `${worlds}/again/$actions/reset`)).status, 200)
  const { extId, name } = await own('again')
  assert.deepEqual([extId, name], [before.extId, before.name])
})

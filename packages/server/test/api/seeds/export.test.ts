/** A living world, exported as a seed, makes an equal one; and what it may not take along is not in it. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { parse } from 'yaml'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { readSeed } from '../../../src/seeds/read-seed.ts'
import { issue, providerForm } from '../../support/authorities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { changed, GiB, readVm } from '../../support/native-cluster.ts'
import { entitiesOf, exported, factsOf, withoutSecrets } from '../../support/seeds.ts'
import { adminPassword, beginning, startApp, type TestApp } from '../../support/start-app.ts'
import { changed as changedEntity } from '../../support/vpcs.ts'
import { demoConnection } from '../../support/vpn.ts'

const native = seedId('cluster/hp-native-01')
const vms = '/vmm/v4.2/ahv/config/vms'
const day = 24 * 3600 * 1000

let origin: TestApp
let text: string
let copy: TestApp
const secrets = {
  user: 'Hidden.Passw0rd!',
  chap: 'hidden-chap-sec',
  client: 'hidden-client-s',
  directory: 'Hidden.Directory1',
  snmp: 'Hidden.Snmp.Key',
}

before(async () => {
  origin = await startApp()
  await live(origin)
  // Sign-ins are noted behind the answers.
  await origin.store.transaction(async () => undefined)
  await origin.store.transaction(async () => undefined)
  text = await exported(origin)
  copy = await startApp({ config: { seed: { text } }, startAt: origin.clock.now() })
})
after(async () => {
  await copy?.close()
  await origin?.close()
})

/** Something of most that can happen, so that the world is not the one that it was made as. */
async function live(app: TestApp): Promise<void> {
  const ended = async (result: Awaited<ReturnType<TestApp['call']>>): Promise<any> => {
    const task = await app.task(result)
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    return task
  }
  const post = (path: string, body: object) => app.call('POST', path, { body, requestId: randomUUID() })
  await app.clock.advance(3 * day)
  const category = await post('/platform/v4.3/config/categories', { key: 'Größe', value: 'sehr groß 中文' })
  assert.equal(category.status, 201, JSON.stringify(category.errors))
  const created = await ended(
    await post(vms, {
      name: 'made - here: "it"',
      description: 'two\nlines',
      memorySizeBytes: GiB,
      cluster: { extId: native },
      categories: [{ extId: category.data.extId }],
      disks: [{ backingInfo: { diskSizeBytes: GiB } }],
      nics: [{ networkInfo: { subnet: { extId: seedId('subnet/vlan-100-app') } } }],
    }),
  )
  const extId = created.entitiesAffected[0].extId
  assert.equal((await changed(app, extId, 'power-on')).status, 'SUCCEEDED')
  assert.equal((await changed(app, seedId('vm/batch-01'), 'power-off')).status, 'SUCCEEDED')
  assert.equal((await changed(app, seedId('vm/floating-01'), 'delete')).status, 'SUCCEEDED')
  await ended(
    await post('/volumes/v4.2/config/volume-groups', {
      name: 'chap',
      clusterReference: native,
      enabledAuthentications: 'CHAP',
      iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret: secrets.chap },
    }),
  )
  const user = await post('/iam/v4.1.b2/authn/users', {
    username: 'newcomer',
    userType: 'LOCAL',
    displayName: 'Hidden',
    password: secrets.user,
  })
  assert.equal(user.status, 201, JSON.stringify(user.errors))
  assert.equal((await app.call('GET', vms, { as: `newcomer:${secrets.user}` })).status, 403)
  await liveWidely(app, { post, ended })
}

interface Ways {
  readonly post: (path: string, body: object) => ReturnType<TestApp['call']>
  readonly ended: (result: Awaited<ReturnType<TestApp['call']>>) => Promise<any>
}

/** Of the other kinds whatever operations make. */
async function liveWidely(app: TestApp, { post, ended }: Ways): Promise<void> {
  const made = async (result: Awaited<ReturnType<TestApp['call']>>): Promise<any> => {
    assert.equal(result.status, 201, JSON.stringify(result.errors))
    return result.data
  }
  const iam = '/iam/v4.1.b2'
  const directory = await made(
    await post(`${iam}/authn/directory-services`, {
      name: 'lab-ad',
      url: 'ldap://lab.simulated:389',
      domainName: 'lab.example.com',
      directoryType: 'ACTIVE_DIRECTORY',
      serviceAccount: { username: 'svc@lab.example.com', password: adminPassword },
    }),
  )
  await made(
    await post(`${iam}/authn/user-groups`, {
      groupType: 'SAML',
      name: 'exported',
      idpId: seedId('saml-identity-provider/corp-sso'),
    }),
  )
  await made(
    await post(`${iam}/authn/users`, { username: 'carol', userType: 'LDAP', idpId: directory.extId, displayName: 'C' }),
  )
  const [authority, provider] = [await issue({ name: 'CN=Exported', isAuthority: true }), await issue()]
  const form = providerForm({ name: 'cards', clientCaChain: authority.pem })
  await made(await app.call('POST', `${iam}/authn/cert-auth-providers`, { form }))
  await made(
    await post(`${iam}/authn/saml-identity-providers`, {
      name: 'exported',
      idpMetadata: {
        entityId: 'https://exported.simulated',
        loginUrl: 'https://exported.simulated/login',
        certificate: provider.pem,
      },
    }),
  )
  await createNetworks(app, { post, ended })
  await applyProfile(app, { post, ended })
  await attachClients(app, { post, ended })
}

async function createNetworks(app: TestApp, { post, ended }: Ways): Promise<void> {
  const network = '/networking/v4.3/config'
  await ended(
    await post(`${network}/vpcs`, {
      name: 'exported',
      externalSubnets: [{ subnetReference: seedId('subnet/ext-nat') }],
    }),
  )
  const [vpc] = (await app.call('GET', `${network}/vpcs?$filter=name eq 'exported'`)).data
  const any = { addressType: 'ANY' }
  await ended(
    await post(`${network}/routing-policies`, {
      name: 'exported',
      priority: 77,
      vpcExtId: vpc.extId,
      policies: [
        {
          policyMatch: { source: any, destination: any, protocolType: 'ICMP' },
          policyAction: { actionType: 'DENY' },
        },
      ],
    }),
  )
  await ended(
    await post(`${network}/subnets/${seedId('subnet/vlan-100-app')}/addresses/$actions/reserve`, {
      reserveType: 'IP_ADDRESS_COUNT',
      count: 2,
      clientContext: 'exported',
    }),
  )
}

async function applyProfile(app: TestApp, { post, ended }: Ways): Promise<void> {
  const clustermgmt = '/clustermgmt/v4.2/config'
  await ended(
    await post(`${clustermgmt}/cluster-profiles`, {
      name: 'exported',
      snmpConfig: { isEnabled: true, users: [{ username: 'monitor', authType: 'SHA', authKey: secrets.snmp }] },
      rsyslogServerList: [
        { serverName: 'logs', ipAddress: { ipv4: { value: '10.1.0.8' } }, port: 514, networkProtocol: 'UDP' },
      ],
    }),
  )
  const { data: profiles } = await app.call('GET', `${clustermgmt}/cluster-profiles`)
  const profile = profiles.find(({ name }: any) => name === 'exported')
  await ended(
    await post(`${clustermgmt}/cluster-profiles/${profile.extId}/$actions/apply`, { clusters: [{ uuid: native }] }),
  )
}

async function attachClients(app: TestApp, { post, ended }: Ways): Promise<void> {
  const group = `/volumes/v4.2/config/volume-groups/${seedId('volume-group/vg-unused')}`
  await ended(await post(`${group}/$actions/attach-nvmf-client`, { nvmfInitiatorName: 'nqn.2026-01.io.example:new' }))
  const [chap] = (await app.call('GET', "/volumes/v4.2/config/volume-groups?$filter=name eq 'chap'")).data
  await ended(
    await post(`/volumes/v4.2/config/volume-groups/${chap.extId}/$actions/attach-iscsi-client`, {
      iscsiInitiatorName: 'iqn.2026-01.io.example:new',
      enabledAuthentications: 'CHAP',
      clientSecret: secrets.client,
    }),
  )
  await ended(
    await post('/vmm/v4.2/content/images', {
      name: 'exported.iso',
      type: 'ISO_IMAGE',
      source: { $objectType: 'vmm.v4.content.UrlSource', url: 'https://images.example.com/exported.iso' },
    }),
  )
}

test('every entity of every kind is restored with its id, in the order of lists', async () => {
  const [before, after] = [await entitiesOf(origin), await entitiesOf(copy)]
  assert.deepEqual([...after.keys()], [...before.keys()])
  for (const [kind, rows] of before) assert.deepEqual(after.get(kind), rows, kind)
})

test('every fact of the simulated infrastructure is restored', async () => {
  assert.deepEqual([...(await factsOf(copy))], [...(await factsOf(origin))])
})

test('every invariant of a world holds', () => checkInvariants(copy))

test('clients get equal answers, derived values and statistics included', async () => {
  const span = `$startTime=${new Date(beginning).toISOString()}&$endTime=${new Date(beginning + 3 * day).toISOString()}`
  for (const path of [
    `${vms}?$limit=100`,
    '/clustermgmt/v4.2/config/clusters',
    `/clustermgmt/v4.2/config/clusters/${native}/hosts`,
    '/clustermgmt/v4.2/config/storage-containers?$limit=100',
    '/networking/v4.3/config/subnets',
    '/volumes/v4.2/config/volume-groups',
    '/platform/v4.3/config/categories?$expand=associations&$limit=100',
    '/iam/v4.1.b2/authn/users',
    `/vmm/v4.2/ahv/stats/vms/${seedId('vm/web-01')}?${span}&$samplingInterval=3600`,
  ]) {
    const [first, second] = [await origin.call('GET', path), await copy.call('GET', path)]
    assert.equal(first.status, 200, `${path} ${JSON.stringify(first.errors)}`)
    assert.deepEqual(withoutSecrets(second.data), withoutSecrets(first.data), path)
    assert.equal(second.total, first.total, path)
  }
})

test('the imported world works: a VM starts with its address, an address is assigned, a category is counted', async () => {
  const extId = seedId('vm/batch-01')
  assert.equal((await changed(copy, extId, 'power-on')).status, 'SUCCEEDED')
  const { nics, powerState } = await readVm(copy, extId)
  assert.equal(powerState, 'ON')
  assert.equal(
    nics[0].networkInfo.ipv4Config.ipAddress.value,
    (await readVm(origin, extId)).nics[0].networkInfo.ipv4Config.ipAddress.value,
  )
  const task = await copy.task(
    await copy.call('POST', vms, {
      requestId: randomUUID(),
      body: {
        name: 'newcomer',
        memorySizeBytes: GiB,
        cluster: { extId: native },
        nics: [{ networkInfo: { subnet: { extId: seedId('subnet/vlan-100-app') } } }],
      },
    }),
  )
  assert.equal(task.status, 'SUCCEEDED')
  await checkInvariants(copy)
})

describe('what an export leaves out', () => {
  test('contains no secret, hash of a secret or key, in any form', async () => {
    const forbidden = [...Object.values(secrets), adminPassword, '$sealed', 'argon2', '$scrypt', 'PRIVATE KEY']
    for (const word of forbidden) assert.ok(!text.includes(word), word)
    const { passwordHash, apiKeyDigest } = {
      passwordHash: JSON.stringify(await origin.store.find((await import('@hyperplane/contract/iam/user')).User)),
      apiKeyDigest: JSON.stringify(await origin.store.find((await import('@hyperplane/contract/iam/key')).Key)),
    }
    for (const found of [passwordHash, apiKeyDigest])
      for (const [, value = ''] of found.matchAll(/"(?:passwordHash|apiKeyDigest)":"([^"]+)"/g))
        assert.ok(!text.includes(value), value.slice(0, 12))
    assert.doesNotMatch(
      text,
      /"(?:password|passwordHash|passwordDigest|preSharedKey|keyDigest|chapDigest|apiKeyDigest|digest)":"/,
    )
  })

  test('the export lists what was left out, with counts and replacements', () => {
    const { leftOut } = parse(text.slice(text.indexOf('\nleftOut:'))) as {
      leftOut: { what: string; count: number; instead: string }[]
    }
    const noted = new Map(leftOut.map(({ what, count, instead }) => [what, { count, instead }]))
    assert.deepEqual(noted.get('passwords of local users'), { count: 5, instead: 'the password of admin' })
    assert.deepEqual(noted.get('API keys')?.count, 2)
    const others = [
      'keys of VPN connections',
      'passwords of BMCs',
      'passwords of directory accounts',
      'the audit trail',
    ]
    for (const what of ['CHAP secrets', ...others]) assert.ok((noted.get(what)?.count ?? 0) > 0, what)
  })

  test('local users have the password of admin after the import', async () => {
    assert.equal((await copy.call('GET', vms, { as: `newcomer:${secrets.user}` })).status, 401)
    assert.equal((await copy.call('GET', vms, { as: `newcomer:${adminPassword}` })).status, 403)
    assert.equal((await copy.call('GET', vms, { as: `viewer:${adminPassword}` })).status, 200)
  })

  test('both ends of shared secrets match again', async () => {
    const directory = `/iam/v4.1.b2/authn/directory-services/${seedId('directory-service/corp-ad')}`
    const found = await copy.call('POST', `${directory}/$actions/search`, {
      requestId: randomUUID(),
      body: { query: 'alice', returnedAttributes: ['name'], searchedAttributes: ['name'] },
    })
    assert.equal(found.status, 200, JSON.stringify(found.errors))
    const host = seedId('host/hp-n01-a')
    const bmc = await copy.call('GET', `/clustermgmt/v4.2/config/clusters/${native}/hosts/${host}/bmc-info`)
    assert.equal(bmc.data.status, 'VALID')
    await copy.clock.advance(day / 24)
    const later = await copy.call('GET', `/clustermgmt/v4.2/config/clusters/${native}/hosts/${host}/bmc-info`)
    assert.equal(later.data.status, 'VALID')
    const { ipsecTunnelStatus } = await changedEntity(copy, demoConnection, { description: 'the key is left out' })
    assert.deepEqual(ipsecTunnelStatus, { state: 'UP' })
  })
})

test('a frozen clock continues at the time of the exported world; a running one shows real time', async () => {
  const text = await exported(origin)
  const open = (clock: 'frozen' | 'real'): Promise<TestApp> =>
    startApp({ config: { seed: { text }, clock }, startAt: undefined as never })
  const [standing, going] = [await open('frozen'), await open('real')]
  assert.equal(standing.clock.iso(), origin.clock.iso())
  assert.ok(going.clock.now() > origin.clock.now() + day)
  await standing.close()
  await going.close()
})

test('a world with an unfinished task is not exported, and the refusal names the task', async () => {
  const app = await startApp({ config: { seed: 'tiny', durations: 'natural' } })
  const started = await app.call('POST', vms, {
    requestId: randomUUID(),
    body: { name: 'slow', memorySizeBytes: GiB, cluster: { extId: seedId('cluster/tiny') } },
  })
  assert.equal(started.status, 202)
  await assert.rejects(exported(app), /1 task has not ended: .*Create/i)
  await app.clock.advance(60_000)
  await app.runner.idle()
  assert.match(await exported(app), /"slow"/)
  await app.close()
})

test('the export of an imported world is the same text, except for state of the instance', async () => {
  const app = await startApp({ config: { seed: 'lab' } })
  const first = await exported(app)
  const second = await startApp({ config: { seed: { text: first } } })
  const comparable = (whole: string): string => whole.slice(0, whole.indexOf('\nleftOut:'))
  assert.equal(comparable(await exported(second)), comparable(first))
  await second.close()
  await app.close()
})

describe('a modified export is refused', () => {
  const refusal = (changedText: string): Promise<unknown> =>
    startApp({ config: { seed: { text: changedText } } }).then(
      (app) => app.close(),
      (error: Error) => error.message,
    )
  const lineOf = (whole: string, part: string): number => whole.slice(0, whole.indexOf(part)).split('\n').length

  test('when a row refers to a missing entity, with the line of the row', async () => {
    const row = text.split('\n').find((line) => line.includes('"key":"CostCenter"')) as string
    const without = text.replace(
      /^ {4}- \{"extId":"[^"]+","tenantId":"[^"]+","key":"Environment","value":"Dev".*\n/m,
      '',
    )
    assert.notEqual(without, text)
    assert.ok(row !== undefined)
    assert.match(
      String(await refusal(without)),
      /line \d+, column 7, entities\.\w+: \S+ names the Category \S+, which is not there/,
    )
  })

  test('when a row occurs twice', async () => {
    const row = text.split('\n').find((line) => line.includes('"key":"CostCenter"')) as string
    const twice = text.replace(row, `${row}\n${row}`)
    const line = lineOf(twice, row) + 1
    assert.match(
      String(await refusal(twice)),
      new RegExp(`line ${line}, column 7, entities\\.Category: there is one already`),
    )
  })
})

test('a seed may add to an exported world', async () => {
  await assert.doesNotReject(readSeed({ text: `${text}vms: 2\n` }))
  const app = await startApp({
    config: {
      seed: { text: `${text}vms:\n  - { name: added, cluster: hp-native-01, nics: [vlan-100-app], powerState: ON }\n` },
    },
  })
  const { data } = await app.call('GET', `${vms}?$filter=name eq 'added'`)
  assert.equal(data[0].powerState, 'ON')
  await checkInvariants(app)
  await app.close()
})

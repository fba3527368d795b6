/** What is sent as a secret of clusters, hosts and profiles comes back nowhere. Source: behaviour clustermgmt.md 1.1, 5 (38, 39). */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { ClusterFact } from '../../../src/drivers/simulated/hardware.ts'
import { hostId, ids, requestId } from '../../support/clustermgmt.ts'
import { type HttpResult, http } from '../../support/http.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

const secrets: string[] = []
const secret = (what: string): string => {
  const text = `Hidden.${what}.${secrets.length}`
  secrets.push(text)
  return text
}
const answers: string[] = []

async function send(method: string, path: string, body?: object, version = 'v4.2'): Promise<HttpResult> {
  const at = `/api/clustermgmt/${version}/config/${path}`
  const tag = method === 'PUT' ? ((await http(url, at.split('?')[0] as string)).headers['etag'] as string) : undefined
  const answer = await http(url, at, {
    method,
    headers: { 'SVC-Request-Id': requestId(), ...(tag === undefined ? {} : { 'If-Match': tag }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  answers.push(answer.text)
  return answer
}
/** To the end of its task. */
async function done(method: string, path: string, body: object): Promise<any> {
  const answer = await send(method, path, body)
  assert.equal(answer.status, 202, answer.text)
  const task = await app.task(answer.json.data.extId)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task
}

const address = { ipv4: { value: '10.6.6.6' } }
const smtpServer = () => ({
  emailAddress: 'a@example.com',
  server: { ipAddress: address, username: 'mail', password: secret('smtp') },
})
const ntpServerConfigList = () => [
  { ntpServerAddress: address, encryptionAlgorithm: 'SHA256', encryptionKey: secret('ntp'), encryptionKeyId: 1 },
]
const settings = () => ({
  smtpServer: smtpServer(),
  ntpServerConfigList: ntpServerConfigList(),
  snmpConfig: {
    isEnabled: true,
    users: [{ username: 'watch', authType: 'SHA', authKey: secret('auth'), privType: 'AES', privKey: secret('priv') }],
  },
})

test('no answer, task, rehearsal or file holds a password, an authentication, privacy or NTP key that was sent', async () => {
  const profile = `cluster-profiles/${(await done('POST', 'cluster-profiles', { name: 'hiding', ...settings() })).entitiesAffected[0].extId}`
  const clusters = { clusters: [{ uuid: ids.native }] }
  await done('POST', `${profile}/$actions/apply?$dryrun=true`, clusters)
  await done('POST', `${profile}/$actions/apply`, clusters)
  const rehearsed = await done('PUT', `${profile}?$dryrun=true`, settings())
  const changes = rehearsed.completionDetails.find(({ name }: any) => name === 'changes').value
  assert.equal(changes.length, 3, 'mail, time and SNMP: only secrets differ')
  await done('PUT', profile, settings())
  await done('PUT', `clusters/${ids.cloud}`, {
    network: {
      smtpServer: smtpServer(),
      ntpServerConfigList: ntpServerConfigList(),
      httpProxyList: [{ name: 'proxy', ipAddress: address, port: 3128, username: 'p', password: secret('proxy') }],
    },
  })
  await done('PUT', `clusters/${ids.native}/hosts/${hostId('hp-n01-a')}/bmc-info`, {
    credential: { username: 'operator', password: secret('bmc') },
  })
  const snmp = `clusters/${ids.cloud}/snmp`
  const keys = () => ({ authType: 'SHA', authKey: secret('auth'), privType: 'AES', privKey: secret('priv') })
  const user = `${snmp}/users/${(await done('POST', `${snmp}/users`, { username: 'own', ...keys() })).entitiesAffected[0].extId}`
  await done('PUT', user, { username: 'own', ...keys() })
  // A refusal quotes none either.
  const refused = await send('PUT', `${profile}`, { smtpServer: { ...smtpServer(), emailAddress: 5 } })
  assert.equal(refused.status, 400)

  const single = [profile, `clusters/${ids.native}`, `clusters/${ids.cloud}`, snmp, user, `clusters/${ids.native}/snmp`]
  for (const version of ['v4.0', 'v4.2']) {
    for (const path of ['cluster-profiles', 'clusters?$expand=clusterProfile', ...single]) {
      for (const header of ['SVC-Request-Id', 'NTNX-Request-Id']) {
        const answer = await http(url, `/api/clustermgmt/${version}/config/${path}`, {
          headers: { [header]: requestId() },
        })
        assert.equal(answer.status, 200, `${version} ${path} ${answer.text}`)
        answers.push(answer.text)
      }
    }
    const bmc = `clusters/${ids.native}/hosts/${hostId('hp-n01-a')}/bmc-info`
    assert.deepEqual(Object.keys((await send('GET', bmc, undefined, version)).json.data.credential).sort(), [
      '$objectType',
      'username',
    ])
  }
  answers.push((await http(url, '/api/platform/v4.3/config/tasks?$limit=100')).text)
  for (const text of answers) for (const plain of secrets) assert.ok(!text.includes(plain), `${plain}: ${text}`)
  assert.ok(secrets.length >= 20)
  for (const name of readdirSync(app.folder).filter((file) => file.startsWith('world.sqlite'))) {
    const bytes = readFileSync(join(app.folder, name)).toString('latin1')
    for (const plain of secrets) assert.ok(!bytes.includes(plain), `${plain} in ${name}`)
  }
})

test('an omitted secret keeps its value while its owner is in the body, also on the cluster', async () => {
  const fact = (): any => app.world.collection<ClusterFact>('hardware.clusters').get(ids.cloud)?.settings
  const before = structuredClone(fact())
  const { network } = (await send('GET', `clusters/${ids.cloud}`)).json.data
  const { smtpServer, ntpServerConfigList, httpProxyList } = network
  await done('PUT', `clusters/${ids.cloud}`, { network: { smtpServer, ntpServerConfigList, httpProxyList } })
  assert.deepEqual(fact().SMTP_SERVER_CONFIG.server.password, before.SMTP_SERVER_CONFIG.server.password)
  assert.deepEqual(
    fact().NTP_SERVER_CONFIG.ntpServerConfigList.map(({ encryptionKey }: any) => encryptionKey),
    before.NTP_SERVER_CONFIG.ntpServerConfigList.map(({ encryptionKey }: any) => encryptionKey),
  )
  assert.ok(before.NTP_SERVER_CONFIG.ntpServerConfigList[0].encryptionKey.digest)
  // Another key is another owner: its secret does not pass over.
  const other = [{ ...ntpServerConfigList[0], encryptionKeyId: 2 }]
  await done('PUT', `clusters/${ids.cloud}`, { network: { ntpServerConfigList: other } })
  assert.equal(fact().NTP_SERVER_CONFIG.ntpServerConfigList[0].encryptionKey, undefined)
})

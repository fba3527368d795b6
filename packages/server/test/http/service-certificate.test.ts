/** The certificate of a service that terminates TLS itself. Source: behaviour clustermgmt.md 1.15. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { connect } from 'node:tls'
import { type Issued, issue } from '../support/authorities.ts'
import { clustermgmt, ids, putFresh } from '../support/clustermgmt.ts'
import { adminPassword, type CallResult, startApp, type TestApp } from '../support/start-app.ts'
import { Steps } from '../support/steps.ts'

const folder = mkdtempSync(join(tmpdir(), 'hyperplane-certificate-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const path = `${clustermgmt}/clusters/${ids.manager}/ssl-certificate`
const config = { http: false }
const replace = (app: TestApp, { pem, key }: Issued, more: object = {}): Promise<CallResult> =>
  putFresh(app, path, { publicCertificate: pem, privateKey: key, privateKeyAlgorithm: 'ECDSA_256', ...more })
const subjectOf = async (app: TestApp): Promise<string | undefined> => /CN=(.*)/.exec(await shownSubject(app))?.[1]

async function shownSubject(app: TestApp): Promise<string> {
  const { X509Certificate } = await import('node:crypto')
  return new X509Certificate((await app.call('GET', path)).data.publicCertificate).subject
}

/** Subject and number of certificates that a new connection is shown. */
function met(url: string, servername?: string): Promise<{ subject: string; reused: boolean; count: number }> {
  const { hostname: host, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false, ...(servername && { servername }) })
    socket.on('error', reject).on('secureConnect', () => {
      const leaf = socket.getPeerCertificate(true)
      const count = leaf.issuerCertificate === undefined || leaf.issuerCertificate === leaf ? 1 : 2
      resolve({ subject: String(leaf.subject.CN), reused: socket.isSessionReused(), count })
      socket.destroy()
    })
  })
}

function get(url: string, agent: Agent): Promise<{ status: number | undefined; subject: string }> {
  const { hostname, port } = new URL(url)
  const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
  return new Promise((resolve, reject) => {
    const sent = request(
      { hostname, port, path: `/api${path}`, agent, rejectUnauthorized: false, headers: { authorization } },
      (answer) => {
        const { subject } = (answer.socket as ReturnType<typeof connect>).getPeerCertificate()
        answer.resume().on('end', () => resolve({ status: answer.statusCode, subject: String(subject.CN) }))
      },
    )
    sent.on('error', reject).end()
  })
}

test('new connections get the new certificate of the manager at once, open ones live on, and a restart keeps it', async () => {
  const authority = await issue({ name: 'CN=Authority', isAuthority: true })
  const chosen = await issue({ name: 'CN=chosen.example', from: authority })
  const app = await startApp({ folder, config })
  const { url } = await app.listen()
  const own = (await met(url)).subject
  assert.equal(await subjectOf(app), own)
  assert.equal((await app.call('GET', path)).data.privateKeyAlgorithm, 'ECDSA_256')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  assert.deepEqual(await get(url, agent), { status: 200, subject: own })

  const task = await app.task(await replace(app, chosen, { caChain: authority.pem }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.deepEqual(await met(url), { subject: 'chosen.example', reused: false, count: 2 })
  assert.equal(await subjectOf(app), 'chosen.example')
  assert.deepEqual(await get(url, agent), { status: 200, subject: own })
  agent.destroy()
  await app.close()

  const again = await startApp({ folder, config })
  const restarted = await again.listen()
  assert.equal((await met(restarted.url)).subject, 'chosen.example')
  assert.equal(await subjectOf(again), 'chosen.example')
  const key = chosen.key.split('\n').slice(1, -2)
  for (const file of filesIn(folder)) {
    const bytes = readFileSync(file, 'latin1')
    for (const line of key) assert.ok(!bytes.includes(line), file)
  }
  await again.close()
})

test('a failed verification gives the service its previous certificate again', async () => {
  const steps = new Steps()
  const app = await startApp({ config, beforeStep: steps.beforeStep })
  const { url } = await app.listen()
  const own = (await met(url)).subject
  steps.failing = 'clustermgmt.update-ssl-certificate verify by handshake'
  const task = await app.task(await replace(app, await issue({ name: 'CN=never.example' })))
  assert.equal(task.status, 'FAILED')
  assert.equal((await met(url)).subject, own)
  assert.equal(await subjectOf(app), own)
  steps.failing = undefined
  assert.equal((await app.task(await replace(app, await issue({ name: 'CN=first.example' })))).status, 'SUCCEEDED')
  steps.failing = 'clustermgmt.update-ssl-certificate verify by handshake'
  assert.equal((await app.task(await replace(app, await issue({ name: 'CN=second.example' })))).status, 'FAILED')
  assert.equal((await met(url)).subject, 'first.example')
  assert.equal(await subjectOf(app), 'first.example')
  await app.close()
})

test('a new self-signed certificate of the manager names its address', async () => {
  const app = await startApp({ config })
  const { url } = await app.listen()
  const task = await app.task(await putFresh(app, path, { privateKeyAlgorithm: 'RSA_2048' }))
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal((await met(url)).subject, 'PC_10.44.1.9')
  await app.close()
})

test('the certificate that the operator configured with files is replaced by files alone', async () => {
  const { pem, key } = await issue({ name: 'CN=configured' })
  const files = { tlsCert: join(folder, 'given.pem'), tlsKey: join(folder, 'given.key') }
  writeFileSync(files.tlsCert, pem)
  writeFileSync(files.tlsKey, key)
  const app = await startApp({ config: { ...config, ...files } })
  assert.equal(await subjectOf(app), 'configured')
  const refused = await replace(app, await issue())
  assert.equal(refused.status, 409)
  assert.match(refused.errors[0]?.message ?? '', /--tls-cert/)
  await app.close()
})

const filesIn = (at: string): string[] =>
  readdirSync(at, { recursive: true, encoding: 'utf8' })
    .map((name) => join(at, name))
    .filter((file) => statSync(file).isFile())

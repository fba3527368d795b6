import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect as connectPlain, createServer } from 'node:net'
import { afterEach, test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import {
  type Authority,
  dayMillis,
  issueCertificate,
  makeAuthority,
  type ServerCertificate,
} from './certificates/make.ts'
import { clientCertificateOf, createTlsServers, type TlsServers } from './tls.ts'

const now = new Date()
const authority = makeAuthority(new Date(now.getTime() - 1000 * dayMillis))
const ca = authority.certificate.toString()
const defaultCertificate = issueCertificate(authority, ['localhost', 'named.localhost'], now)
const worlds = new Map(
  ['alpha', 'beta', 'named'].map((name) => [
    `${name}.localhost`,
    issueCertificate(authority, [`${name}.localhost`], now),
  ]),
)
const versions = ['TLSv1.2', 'TLSv1.3'] as const

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

async function serve(certificateOf?: (serverName: string) => ServerCertificate | undefined) {
  const servers = createTlsServers({ ...defaultCertificate, minVersion: 'TLSv1.2', certificateOf }, (server) => {
    server.removeAllListeners('secureConnection')
    server.on('secureConnection', (socket: TLSSocket) => {
      socket.on('error', () => undefined)
      socket.write(clientCertificateOf(socket) === undefined ? 'nobody' : 'certified')
    })
    server.on('tlsClientError', (_, socket) => socket.destroy())
  })
  const front = createServer((socket) => {
    socket.on('error', () => undefined)
    servers.current().emit('connection', socket)
  }).listen(0, '127.0.0.1')
  ends.push(() => front.close())
  await once(front, 'listening')
  return { servers, port: (front.address() as AddressInfo).port }
}
const serveWorlds = () => serve((serverName) => worlds.get(serverName))

interface Met {
  readonly names: string | undefined
  readonly greeting: string
  readonly resumed: boolean
  readonly session: Buffer | undefined
}

/** @throws the reason why the client refuses the connection */
async function meet(port: number, servername: string, options: ConnectionOptions = {}): Promise<Met> {
  const socket = connect({ port, host: '127.0.0.1', servername, ca, ...options })
  ends.push(() => socket.destroy())
  const isNew = options.session === undefined
  const [[greeting], [session]] = await Promise.all([once(socket, 'data'), isNew ? once(socket, 'session') : []])
  const names = socket.getPeerX509Certificate()?.subjectAltName
  const met = { names, greeting: String(greeting), resumed: socket.isSessionReused(), session }
  socket.destroy()
  return met
}

const client = issueCertificate(makeAuthority(now), ['nobody.example'], now)
function askFor(servers: TlsServers, ...authorities: readonly Authority[]): void {
  servers.ask(authorities.map(({ certificate }) => certificate.toString()))
}

for (const maxVersion of versions) {
  test(`${maxVersion}: one port serves the certificates of two worlds and of the service, by server name`, async () => {
    const { port } = await serveWorlds()
    const met = ['alpha.localhost', 'beta.localhost', 'localhost'].map((name) => meet(port, name, { maxVersion }))
    assert.deepEqual(
      (await Promise.all(met)).map(({ names }) => names),
      ['DNS:alpha.localhost', 'DNS:beta.localhost', 'DNS:localhost, DNS:named.localhost'],
    )
  })

  test(`${maxVersion}: worlds have their own certificates also while clients are asked for certificates`, async () => {
    const { servers, port } = await serveWorlds()
    askFor(servers, makeAuthority(now))
    for (const [options, greeting] of [
      [{}, 'nobody'],
      [client, 'certified'],
    ] as const) {
      const met = await meet(port, 'alpha.localhost', { maxVersion, ...options })
      assert.deepEqual([met.names, met.greeting], ['DNS:alpha.localhost', greeting])
      assert.equal((await meet(port, 'localhost', { maxVersion, ...options })).greeting, greeting)
    }
    askFor(servers)
    assert.equal((await meet(port, 'alpha.localhost', { maxVersion, ...client })).greeting, 'nobody')
  })

  test(`${maxVersion}: the session with a world is resumed, with and without a client certificate`, async () => {
    const { servers, port } = await serveWorlds()
    for (const [options, greeting] of [
      [{}, 'nobody'],
      [client, 'certified'],
    ] as const) {
      if (greeting === 'certified') askFor(servers, makeAuthority(now))
      for (const name of ['alpha.localhost', 'localhost']) {
        const first = await meet(port, name, { maxVersion, ...options })
        const second = await meet(port, name, { maxVersion, ...options, session: first.session })
        assert.deepEqual([first.resumed, second.resumed], [false, true], name)
        assert.equal(second.greeting, greeting)
      }
    }
  })
}

/** Plaintext that the server sends before encryption begins. */
async function openWords(port: number, servername: string): Promise<Buffer> {
  const texts: Buffer[] = []
  const listener = createServer((near) => {
    const far = connectPlain({ port, host: '127.0.0.1' })
    far.on('data', (bytes) => texts.push(bytes))
    for (const socket of [near, far]) socket.on('error', () => undefined)
    near.pipe(far).pipe(near)
  }).listen(0, '127.0.0.1')
  ends.push(() => listener.close())
  await once(listener, 'listening')
  await meet((listener.address() as AddressInfo).port, servername, { maxVersion: 'TLSv1.2' })
  return Buffer.concat(texts)
}

test('clients are asked for certificates of the authorities that are trusted now', async () => {
  const { servers, port } = await serveWorlds()
  const [first, second] = [makeAuthority(now), makeAuthority(now)]
  const nameOf = ({ certificate }: Authority) => certificate.subject.replace('CN=', '')
  for (const trusted of [[first], [second], [first, second]]) {
    askFor(servers, ...trusted)
    for (const name of ['alpha.localhost', 'localhost']) {
      const words = await openWords(port, name)
      const named = [first, second].filter((one) => words.includes(nameOf(one)))
      assert.deepEqual(named, trusted, name)
    }
  }
})

test('a name of no world gets the default certificate, which the client refuses for that name', async () => {
  const { port } = await serveWorlds()
  await assert.rejects(meet(port, 'gamma.localhost'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  const { names } = await meet(port, 'gamma.localhost', { checkServerIdentity: () => undefined })
  assert.equal(names, 'DNS:localhost, DNS:named.localhost')
})

test('a client without a server name gets the default certificate', async () => {
  const { port } = await serveWorlds()
  const { names } = await meet(port, '', { checkServerIdentity: () => undefined })
  assert.equal(names, 'DNS:localhost, DNS:named.localhost')
})

test('a name that the default certificate covers needs no other certificate', async () => {
  const { port } = await serveWorlds()
  assert.equal((await meet(port, 'named.localhost')).names, 'DNS:localhost, DNS:named.localhost')
})

test('malformed server names do no harm', async () => {
  const requested: string[] = []
  const { port } = await serve((serverName) => {
    requested.push(serverName)
    return undefined
  })
  const strange = [
    '.localhost',
    '*.localhost',
    '-.localhost',
    'a..localhost',
    ' ',
    '%00',
    '../key',
    'ä.localhost',
    'x'.repeat(255),
  ]
  for (const name of strange) await meet(port, name, { checkServerIdentity: () => undefined }).catch(() => undefined)
  assert.ok(requested.includes('*.localhost'))
  assert.equal((await meet(port, 'localhost')).greeting, 'nobody')
})

test('a failure to get a certificate ends only the connection at hand', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const foreignKey = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const { port } = await serve((serverName) => {
    if (serverName === 'alpha.localhost') throw new Error('none to be had')
    return { cert: defaultCertificate.cert, key: foreignKey }
  })
  for (const name of ['alpha.localhost', 'beta.localhost'])
    await assert.rejects(meet(port, name), { code: 'ECONNRESET' })
  assert.equal((await meet(port, 'localhost')).greeting, 'nobody')
})

test('a renewed certificate is used from the next connection on', async () => {
  let shown = issueCertificate(authority, ['alpha.localhost'], new Date(now.getTime() - 825 * dayMillis))
  const { port } = await serve(() => shown)
  await assert.rejects(meet(port, 'alpha.localhost'), { code: 'CERT_HAS_EXPIRED' })
  shown = issueCertificate(authority, ['alpha.localhost'], now)
  assert.equal((await meet(port, 'alpha.localhost')).names, 'DNS:alpha.localhost')
})

test('servers without certificates for server names use the default certificate', async () => {
  const { port } = await serve()
  assert.equal((await meet(port, 'localhost')).names, 'DNS:localhost, DNS:named.localhost')
  await assert.rejects(meet(port, 'alpha.localhost'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
})

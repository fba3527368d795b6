/** Faulty and malicious peers; test/integration/registering.test.ts has well-behaved ones. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { makeServerCertificate } from '../../../test/support/server-certificate.ts'
import { createAddressGuard } from '../../core/access/address-guard.ts'
import { realClock } from '../../core/time/clock.ts'
import { RemoteFault, type RemoteFaultReason, type RemotePlace } from '../remote-managers.ts'
import { createPeerManagers } from './peer-managers.ts'

const address = '127.0.0.1'
const us = { extId: '9f3c1c4e-6f0a-4e0f-8d5b-0f2a5e9c1b7d' }
const login = { username: 'admin', password: 'Nobody.Knows.1' }

let server: Server
let place: RemotePlace
let answer: (request: IncomingMessage, response: ServerResponse) => void
const timers = new Set<() => void>()
const real = {
  ...realClock,
  setTimer: (_: number, run: () => void) => {
    timers.add(run)
    return () => void timers.delete(run)
  },
}
const peers = () =>
  createPeerManagers({
    guard: createAddressGuard({ allowed: ['127.0.0.0/8'] }),
    registrationGuard: createAddressGuard({ allowed: ['127.0.0.0/8'] }),
    port: () => (server.address() as AddressInfo).port,
    ownHost: undefined,
    real,
  })
const fails = (work: Promise<unknown>, reason: RemoteFaultReason, message: RegExp) =>
  assert.rejects(
    work,
    (error) => error instanceof RemoteFault && error.reason === reason && message.test(error.message),
  )

before(async () => {
  server = createServer(makeServerCertificate([address]), (request, response) => answer(request, response))
  server.listen(0, address)
  await once(server, 'listening')
  answer = (_, response) => void response.setHeader('Date', new Date().toUTCString()).end()
  place = { address, certificate: (await peers().reach(address)).certificate }
})
after(() => {
  server.closeAllConnections()
  server.close()
})

test('an endless answer times out, although it has begun', async () => {
  const begun = Promise.withResolvers<void>()
  answer = (_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' }).write('{', () => begun.resolve())
  }
  const probe = peers().probe(place, 'hpk_x', us.extId, us)
  await Promise.all([
    fails(probe, 'unreachable', /no answer within 10 s/),
    begun.promise.then(() => {
      for (const end of timers) end()
    }),
  ])
  assert.equal(timers.size, 0, 'a connection that ended has no timer left')
})

const nonsense: readonly (readonly [string, unknown])[] = [
  ['no JSON', '{'],
  ['no envelope', 'null'],
  ['a list of nothing', '{"data":[null]}'],
  ['an id that is none', '{"data":[{"extId":"../users","config":{},"network":{}}]}'],
  ['nothing of itself', `{"data":[{"extId":"${us.extId}"}]}`],
]
for (const [what, body] of nonsense) {
  test(`a server that answers ${what} is no domain manager, and nothing else happens`, async () => {
    answer = (_, response) => void response.writeHead(200, { 'Content-Type': 'application/json' }).end(body)
    await fails(peers().identify(place, login, us), 'refused', /no manager|domain manager/)
  })
}

test('a refusal without an error of the interface is reported with its status', async () => {
  answer = (_, response) =>
    void response.writeHead(418, { 'Content-Type': 'application/json' }).end('{"data":{"error":[7]}}')
  await fails(peers().probe(place, 'hpk_x', us.extId, us), 'refused', /answered 418/)
})

test('credentials are not sent to a peer with another certificate', async () => {
  let asked = 0
  answer = (_, response) => void response.end(String(asked++))
  await fails(
    peers().identify({ address, certificate: '0'.repeat(64) }, login, us),
    'certificate',
    /another certificate/,
  )
  assert.equal(asked, 0)
})

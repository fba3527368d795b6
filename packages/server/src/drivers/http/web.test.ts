import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createAddressGuard } from '../../core/access/address-guard.ts'
import { realClock } from '../../core/time/clock.ts'
import { WebError, type WebFault, type WebRequest } from '../web.ts'
import { createHttpWeb } from './web.ts'

const guard = createAddressGuard({ allowed: ['127.0.0.0/8'], resolve: async () => ['127.0.0.1'] })
const web = createHttpWeb({ guard, real: realClock })

async function serving(listener: RequestListener, work: (url: string) => Promise<void>): Promise<void> {
  const server: Server = createServer(listener)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  try {
    await work(`http://web.test:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

const ask = (url: string, more: Partial<WebRequest> = {}): WebRequest => ({
  url,
  maximumBytes: 1000,
  timeoutMilliseconds: 5000,
  ...more,
})
const failsWith = (request: WebRequest, fault: WebFault, by = web): Promise<void> =>
  assert.rejects(by.fetch(request), (error) => error instanceof WebError && error.fault === fault)

test('gets a document, and posts a request with its type', async () => {
  const listener: RequestListener = (request, response) => {
    request.pipe(response.setHeader('x', '')).write(`${request.method} ${request.headers['content-type'] ?? ''} `)
  }
  await serving(listener, async (url) => {
    assert.equal(Buffer.from(await web.fetch(ask(`${url}/a`))).toString(), 'GET  ')
    const question = { contentType: 'application/ocsp-request', content: Buffer.from('?') }
    assert.equal(Buffer.from(await web.fetch(ask(url, { question }))).toString(), 'POST application/ocsp-request ?')
  })
})

test('follows a limited number of redirects to the same host only', async () => {
  const places: Record<string, string> = {
    '/one': '/two',
    '/away': 'http://other.test/',
    '/loop': '/loop',
    '/file': 'file:///etc/passwd',
  }
  const listener: RequestListener = ({ url = '' }, response) => {
    const location = places[url]
    if (location === undefined) response.end('arrived')
    else response.writeHead(302, { location }).end()
  }
  await serving(listener, async (url) => {
    assert.equal(Buffer.from(await web.fetch(ask(`${url}/one`))).toString(), 'arrived')
    for (const path of ['/away', '/loop', '/file']) await failsWith(ask(url + path), 'redirect')
    const question = { contentType: 'text/plain', content: Buffer.from('?') }
    await failsWith(ask(`${url}/one`, { question }), 'redirect')
  })
})

test('refuses answers above the size limit, other statuses, and broken connections', async () => {
  const listener: RequestListener = ({ url }, response) => {
    if (url === '/large') response.end('x'.repeat(1001))
    else if (url === '/gone') response.writeHead(404).end()
    else response.socket?.destroy()
  }
  await serving(listener, async (url) => {
    await failsWith(ask(`${url}/large`), 'size')
    await failsWith(ask(`${url}/gone`), 'status')
    await failsWith(ask(`${url}/broken`), 'protocol')
    await failsWith(ask(url.replace('http:', 'https:')), 'tls')
  })
})

test('fails after its time limit, whatever the server still sends', async () => {
  let over = (): void => undefined
  const timed = createHttpWeb({
    guard,
    real: {
      setTimer: (_ms, run) => {
        over = run
        return () => undefined
      },
    },
  })
  const listener: RequestListener = (_request, response) => {
    response.write('the beginning')
    over()
  }
  await serving(listener, (url) => failsWith(ask(url), 'timeout', timed))
})

test('refuses addresses that are not allowed, without a call', async () => {
  const closed = createHttpWeb({ guard: createAddressGuard({ allowed: [] }), real: realClock })
  await failsWith(ask('http://127.0.0.1:1/'), 'address', closed)
  assert.match((await closed.refusalOf('http://169.254.169.254/')) ?? '', /metadata address/)
  const unknown = createAddressGuard({ allowed: [], resolve: () => Promise.reject(new Error('ENOTFOUND')) })
  const lost = createHttpWeb({ guard: unknown, real: realClock })
  await failsWith(ask('http://nowhere.test/'), 'dns', lost)
  assert.equal(await lost.refusalOf('http://nowhere.test/'), undefined)
})

/** SAML metadata exchanged with implementations that are not ours: pysaml2, signxml, the OASIS schemas. Source: behaviour iam.md 5, 13. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startApp, type TestApp } from '../support/start-app.ts'

const path = '/iam/v4.1.b2/authn/saml-identity-providers'
const python = fileURLToPath(new URL('.venv/bin/python', import.meta.url))
const program = fileURLToPath(new URL('saml_peer.py', import.meta.url))
let app: TestApp
let folder: string
let described: string

const peer = (args: readonly string[], input = ''): string =>
  execFileSync(python, [program, ...args], { cwd: folder, input, encoding: 'utf8', stdio: 'pipe' })

before(async () => {
  assert.ok(existsSync(python), 'pysaml2 is not there: run packages/server/test/integration/install-saml.sh')
  folder = mkdtempSync(join(tmpdir(), 'hyperplane-saml-'))
  const subject = ['-subj', '/CN=idp', '-days', '30']
  const key = ['-newkey', 'rsa:2048', '-nodes', '-keyout', 'idp.key', '-out', 'idp.pem']
  execFileSync('openssl', ['req', '-x509', ...key, ...subject], { cwd: folder, stdio: 'pipe' })
  described = peer(['describe', 'idp.pem'])
  app = await startApp({
    startAt: Date.now(),
    config: { publicUrl: 'https://hyperplane.example.com', allowAddress: ['127.0.0.0/8'] },
  })
})
after(async () => {
  await app?.close()
  rmSync(folder, { recursive: true, force: true })
})

const create = (name: string, idpMetadataXml: string) => app.call('POST', path, { body: { name, idpMetadataXml } })

test('metadata written by pysaml2 fills the fields', async () => {
  const { status, data, errors } = await create('pysaml2', described)
  assert.equal(status, 201, JSON.stringify(errors))
  const { certificate, ...rest } = data.idpMetadata
  assert.deepEqual(rest, {
    entityId: 'https://pysaml2.example.com/idp',
    loginUrl: 'https://pysaml2.example.com/redirect',
    logoutUrl: 'https://pysaml2.example.com/logout',
    nameIdPolicyFormat: 'persistent',
  })
  assert.ok(certificate.startsWith('MII'))
  const at = `${path}/${data.extId}`
  await app.call('DELETE', at, { ifMatch: (await app.call('GET', at)).etag as string })
})

test('metadata signed by signxml is accepted, and refused after the smallest change', async () => {
  const signed = peer(['sign', 'idp.pem', 'idp.key'], described)
  assert.match(signed, /SignatureValue/)
  const changed = await create('changed', signed.replace('pysaml2.example.com/logout', 'pysaml2.example.com/1ogout'))
  assert.equal(changed.status, 400)
  assert.match(changed.errors[0]?.message ?? '', /signature does not hold/)
  const accepted = await create('signed', signed)
  assert.equal(accepted.status, 201, JSON.stringify(accepted.errors))
})

test('the metadata of the service is valid by the OASIS schema, and pysaml2 reads the expected values', async () => {
  const { data } = await app.call('GET', '/iam/v4.1.b2/authn/saml-sp-metadata')
  assert.deepEqual(JSON.parse(peer(['check'], data.content)), {
    entityId: 'https://hyperplane.example.com/api/iam/authn',
    wantsSignedAssertions: 'true',
    consumer: [
      'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
      'https://hyperplane.example.com/api/iam/authn/callback',
    ],
    keys: ['signing', 'encryption'],
  })
})

test('a URL whose server has no TLS or an untrusted certificate is refused with the cause', async () => {
  const answer: RequestListener = (_request, response) => void response.end(described)
  const file = (name: string): string => readFileSync(join(folder, name), 'utf8')
  const servers: [Server, RegExp][] = [
    [createServer(answer), /certificate is not accepted|broke off/],
    [createSecureServer({ key: file('idp.key'), cert: file('idp.pem') }, answer), /certificate is not accepted/],
  ]
  for (const [server, cause] of servers) {
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const idpMetadataUrl = `https://127.0.0.1:${port}/metadata`
    const result = await app.call('POST', path, { body: { name: 'by URL', idpMetadataUrl } })
    server.close()
    assert.equal(result.status, 400)
    assert.equal(result.errors[0]?.code, 'IAM-20022')
    assert.match(result.errors[0]?.message ?? '', cause)
  }
})

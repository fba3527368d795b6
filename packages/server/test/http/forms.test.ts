/** Forms and documents over real connections, in both naming profiles. Source: behaviour conventions 2; iam.md 5. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { issue, providerForm } from '../support/authorities.ts'
import { http } from '../support/http.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

const path = '/api/iam/v4.1.b2/authn/cert-auth-providers'
let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

async function send(fields: Readonly<Record<string, unknown>>, headers: Readonly<Record<string, string>>) {
  const encoded = new Response(providerForm(fields))
  const body = await encoded.bytes()
  const contentType = encoded.headers.get('content-type') as string
  return http(url, path, {
    method: 'POST',
    body,
    headers: { 'content-type': contentType, 'content-length': String(body.length), ...headers },
  })
}

test('a form is accepted in both profiles, and answered in the profile of the request', async () => {
  const [one, two] = [
    await issue({ name: 'CN=One', isAuthority: true }),
    await issue({ name: 'CN=Two', isAuthority: true }),
  ]
  const spec = await send({ name: 'spec', clientCaChain: one.pem }, {})
  assert.equal(spec.status, 201, spec.text)
  assert.equal(spec.json.data.$objectType, 'iam.v4.authn.CertAuthProvider')
  assert.equal(spec.json.data.$reserved, undefined)
  const ids = { 'ntnx-request-id': '0f3a5a52-58b3-4c39-9f4e-3a1d0c9b7e77' }
  // Public clients also send base fields, which are ignored.
  const fields = { name: 'public', clientCaChain: two.pem, createdTime: 'whenever', someNewField: 'x' }
  const result = await send(fields, ids)
  assert.equal(result.status, 201, result.text)
  assert.ok(result.json.data.$reserved)
  assert.equal(result.json.$objectType, 'iam.v4.authn.CreateCertAuthProviderApiResponse')
  assert.notEqual(result.json.data.createdTime, 'whenever')
})

test('a form without a boundary, or a truncated form, is 400', async () => {
  for (const [contentType, body] of [
    ['multipart/form-data', '--x\r\n'],
    ['multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data; name="name"\r\n\r\ncut'],
    ['multipart/form-data; boundary=x', 'no form at all'],
  ] as const) {
    const result = await http(url, path, { method: 'POST', body, headers: { 'content-type': contentType } })
    assert.equal(result.status, 400, `${contentType} ${body}: ${result.text}`)
    assert.equal(result.json.data.$objectType, 'iam.v4.error.ErrorResponse')
  }
})

test('a form of more than 2 MiB is 413', async () => {
  const result = await send({ name: 'large', clientCaChain: 'x'.repeat(2 * 1024 * 1024) }, {})
  assert.equal(result.status, 413)
})

test('service provider metadata has the media type text/xml in both profiles, and the public URL of the service', async () => {
  for (const headers of [{}, { 'user-agent': 'Nutanix-iam/v4' }] as Record<string, string>[]) {
    const result = await http(url, '/api/iam/v4.1.b2/authn/saml-sp-metadata', { headers })
    assert.equal(result.status, 200)
    assert.equal(result.headers['content-type'], 'text/xml')
    assert.match(result.text, new RegExp(`entityID="http://localhost:${new URL(url).port}/api/iam/authn"`))
  }
})

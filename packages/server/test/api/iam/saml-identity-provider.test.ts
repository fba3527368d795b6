/** SAML identity providers and the metadata that both sides exchange. Source: behaviour iam.md 5, 11, 13. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { after, before, test } from 'node:test'
import { parseXml, XmlElement } from '@rgrove/parse-xml'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Issued, issue } from '../../support/authorities.ts'
import { metadataOf, signed } from '../../support/saml.ts'
import { beginning, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

const path = '/iam/v4.1.b2/authn/saml-identity-providers'
let app: TestApp
let provider: Issued
let counter = 0

before(async () => {
  app = await startApp({ logLevel: 'silent', config: { seed: 'empty' } })
  provider = await issue({ name: 'CN=idp.example.com' })
})
after(() => app.close())

const entity = () => `https://idp.example.com/${++counter}`
const fields = (more: object = {}) => ({
  entityId: entity(),
  loginUrl: 'https://idp.example.com/sso',
  certificate: provider.pem,
  ...more,
})
const create = (body: object): Promise<CallResult> =>
  app.call('POST', path, { body: { name: `provider ${++counter}`, ...body } })
const facts = (result: CallResult): string => `${result.status} ${JSON.stringify(result.errors)}`
const fault = (result: CallResult): string => {
  assert.equal(result.status, 400, facts(result))
  assert.equal(result.errors[0]?.code, 'IAM-20022', facts(result))
  return result.errors.map(({ message }) => message).join('\n')
}
const place = (url: string, text: string): Promise<void> =>
  app.world.collection('web.documents').put(url, { base64: Buffer.from(text).toString('base64') })

test('a provider created from fields gets the defaults, returns the certificate as sent, and is replaced and deleted with its ETag', async () => {
  const idpMetadata = fields()
  const created = await create({ name: 'corporate', idpMetadata })
  assert.equal(created.status, 201, facts(created))
  assert.deepEqual(created.data.idpMetadata, { ...idpMetadata, nameIdPolicyFormat: 'unspecified' })
  assert.equal(created.data.usernameAttribute, 'name')
  assert.equal(created.data.emailAttribute, 'email')
  assert.equal(created.data.isSignedAuthnReqEnabled, false)
  assert.match(created.data.entityIssuer, /^http:\/\/localhost:\d+\/api\/iam\/authn$/)

  const at = `${path}/${created.data.extId}`
  const read = await app.call('GET', at)
  assert.deepEqual(read.data, created.data)
  const customAttributes = ['b', 'a']
  const body = { name: 'corporate', groupsDelim: ';', customAttributes }
  assert.equal((await app.call('PUT', at, { body })).status, 428)
  const replaced = await app.call('PUT', at, { body, ifMatch: read.etag as string })
  assert.equal(replaced.status, 200, facts(replaced))
  assert.deepEqual(replaced.data.idpMetadata, read.data.idpMetadata)
  assert.deepEqual(replaced.data.customAttributes, customAttributes)
  assert.equal((await app.call('PUT', at, { body, ifMatch: read.etag as string })).status, 412)
  assert.equal((await app.call('DELETE', at, { ifMatch: replaced.etag as string })).status, 204)
  assert.equal((await app.call('GET', at)).errors[0]?.code, 'IAM-20005')
})

test('a certificate may be PEM or bare base64, other text is refused, and an expired certificate is accepted with a warning', async () => {
  const bare = Buffer.from(provider.certificate.rawData).toString('base64')
  assert.equal((await create({ idpMetadata: fields({ certificate: bare }) })).data.idpMetadata.certificate, bare)
  assert.match(fault(await create({ idpMetadata: fields({ certificate: 'hello' }) })), /idpMetadata\/certificate/)
  const old = await issue({ notAfter: beginning - 1000 })
  const expired = await create({ idpMetadata: fields({ certificate: old.pem }) })
  assert.equal(expired.status, 201)
  assert.match(expired.warnings.join(), /has expired/)
})

test('a provider with no or several metadata sources, or with a name or entity id in use, is refused', async () => {
  const idpMetadata = fields()
  assert.equal((await create({})).status, 400)
  const both = await create({ idpMetadata, idpMetadataXml: metadataOf(provider) })
  assert.equal(both.status, 400)
  assert.match(both.errors[0]?.message ?? '', /exactly one of .* found idpMetadata and idpMetadataXml/)
  assert.equal((await create({ name: 'taken', idpMetadata })).status, 201)
  for (const body of [{ name: 'taken', idpMetadata: fields() }, { idpMetadata }]) {
    const result = await create(body)
    assert.equal(result.status, 409)
    assert.equal(result.errors[0]?.code, 'IAM-20014')
  }
})

test('a metadata document fills the fields and is itself in no response', async () => {
  const idpMetadataXml = metadataOf(provider, {
    entityId: 'https://xml.example.com',
    nameIdFormats: ['urn:oasis:names:tc:SAML:2.0:nameid-format:persistent', 'urn:unknown'],
  })
  const created = await create({ idpMetadataXml })
  assert.equal(created.status, 201, facts(created))
  assert.deepEqual(created.data.idpMetadata, {
    entityId: 'https://xml.example.com',
    loginUrl: 'https://idp.example.com/sso?tenant=1&mode=redirect',
    logoutUrl: 'https://idp.example.com/slo',
    errorUrl: 'https://idp.example.com/error',
    certificate: Buffer.from(provider.certificate.rawData).toString('base64'),
    nameIdPolicyFormat: 'persistent',
  })
  for (const answer of [created, await app.call('GET', `${path}/${created.data.extId}`), await app.call('GET', path)])
    assert.ok(!JSON.stringify(answer.data).includes('idpMetadataXml'))
  const wrapped = metadataOf(provider, { entityId: entity(), isWrapped: true })
  assert.equal((await create({ idpMetadataXml: wrapped })).status, 201)
})

test('a metadata document with a document type, an entity bomb or an external entity is refused at once', async () => {
  const xml = metadataOf(provider)
  const bomb = `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">${Array.from({ length: 20 }, (_, index) => `<!ENTITY a${index} "${`&a${index - 1};`.repeat(10)}">`).join('')}]>`
  const external = '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
  for (const type of ['<!DOCTYPE x>', bomb, external])
    assert.match(fault(await create({ idpMetadataXml: xml.replace('?>', `?>${type}`) })), /DOCTYPE/)
  assert.match(
    fault(await create({ idpMetadataXml: xml.replace('https://idp.example.com/error', '&x;') })),
    /well-formed/,
  )
})

test('a metadata document with no provider, several, an expired one or no usable service is refused with the reason', async () => {
  const xml = metadataOf(provider, { entityId: entity() })
  const faults: [string, RegExp][] = [
    ['hello', /well-formed/],
    ['<a/>', /no EntityDescriptor/],
    [xml.replaceAll('IDPSSODescriptor', 'SPSSODescriptor'), /no identity provider/],
    [
      xml.replace('urn:oasis:names:tc:SAML:2.0:protocol', 'urn:oasis:names:tc:SAML:1.1:protocol'),
      /no identity provider/,
    ],
    [xml.replaceAll('HTTP-Redirect', 'SOAP').replaceAll('HTTP-POST', 'SOAP'), /SingleSignOnService/],
    [xml.replace('<md:EntityDescriptor', '<md:EntityDescriptor validUntil="2026-03-02T08:59:59Z"'), /has expired/],
    [xml.replace('<md:EntityDescriptor', '<md:EntityDescriptor validUntil="soon"'), /is no time/],
    [xml.replace(/<ds:X509Certificate>[^<]+/, '<ds:X509Certificate>AAAA'), /certificate cannot be read/],
    [xml.replace('https://idp.example.com/sso?', 'javascript:alert(1)?'), /no http or https URL/],
    [metadataOf(provider, { isWrapped: true, copies: 2 }), /describes 2 entities/],
    [`${'<a>'.repeat(50)}${'</a>'.repeat(50)}`, /nest deeper/],
  ]
  for (const [document, reason] of faults) assert.match(fault(await create({ idpMetadataXml: document })), reason)
})

test('a metadata document of the maximum size is processed, a larger one is refused', async () => {
  const xml = metadataOf(provider, { entityId: entity() })
  const filled = (size: number): string =>
    xml.replace(
      '</md:EntityDescriptor>',
      `<!--${'x'.repeat(size - Buffer.byteLength(xml) - 7)}--></md:EntityDescriptor>`,
    )
  assert.equal((await create({ idpMetadataXml: filled(1024 * 1024) })).status, 201)
  assert.equal((await create({ idpMetadataXml: filled(1024 * 1024 + 1) })).status, 400)
  const many = xml.replace('</md:EntityDescriptor>', `${'<a/>'.repeat(250_000)}</md:EntityDescriptor>`)
  assert.match(fault(await create({ idpMetadataXml: many })), /more than 10000 elements/)
})

test('a signed metadata document is accepted, and refused when it was altered or its signature moved', async () => {
  const xml = metadataOf(provider, { entityId: entity(), id: '_1' })
  const good = signed(xml, provider, '_1')
  assert.equal((await create({ idpMetadataXml: good })).status, 201)
  assert.match(fault(await create({ idpMetadataXml: good.replace('/slo', '/evil') })), /signature does not hold/)
  // Wrapping: the signed entity is hidden inside an unsigned one, which brings the signature.
  const forged = metadataOf(provider, { entityId: entity(), id: '_2' })
  const signature = /<ds:Signature[\s\S]+<\/ds:Signature>/.exec(good)?.[0] as string
  const original = good.replace(signature, '').replace(/<\?xml[^>]*\?>/, '')
  const wrapping = forged.replace(
    /(<md:EntityDescriptor[^>]*>)/,
    `$1${signature}<md:Extensions>${original}</md:Extensions>`,
  )
  assert.match(fault(await create({ idpMetadataXml: wrapping })), /does not sign the element that contains it/)
  const sameId = wrapping.replace('ID="_2"', 'ID="_1"')
  assert.match(fault(await create({ idpMetadataXml: sameId })), /an ID occurs twice/)
  // Beside it, in one collection.
  const both = `<md:EntitiesDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata">${[forged, good].join('').replace(/<\?xml[^>]*\?>/g, '')}</md:EntitiesDescriptor>`
  assert.match(fault(await create({ idpMetadataXml: both })), /describes 2 entities/)
  const costly = good.replace('</md:IDPSSODescriptor>', `</md:IDPSSODescriptor>${'<!--a-->'.repeat(3001)}`)
  assert.match(fault(await create({ idpMetadataXml: costly })), /more than 3000 tags/)
  const bare = good.replace(/<ds:KeyInfo>(?=<ds:X509Data>)[\s\S]*?<\/ds:KeyInfo>(?=<\/ds:Signature>)/, '')
  assert.match(fault(await create({ idpMetadataXml: bare })), /does not bring the certificate of its signer/)
})

test('metadata at a URL is read at creation and daily, and the last good document is kept while the URL fails', async () => {
  const url = 'https://idp.simulated/metadata'
  const entityId = entity()
  await place(url, metadataOf(provider, { entityId }))
  const created = await create({ idpMetadataUrl: url })
  assert.equal(created.status, 201, facts(created))
  assert.equal(created.data.idpMetadataUrl, url)
  assert.equal(created.data.idpMetadata.entityId, entityId)
  const at = `${path}/${created.data.extId}`
  const loginUrl = async () => (await app.call('GET', at)).data.idpMetadata.loginUrl
  const before = await loginUrl()

  await place(url, metadataOf(provider, { entityId, loginUrl: 'https://idp.example.com/new' }))
  await app.clock.advance(23 * 3600_000)
  assert.equal(await loginUrl(), before)
  await app.clock.advance(2 * 3600_000)
  assert.equal(await loginUrl(), 'https://idp.example.com/new')
  for (const document of ['broken', metadataOf(provider, { entityId: 'https://other.example.com' })]) {
    await place(url, document)
    await app.clock.advance(25 * 3600_000)
    assert.equal(await loginUrl(), 'https://idp.example.com/new')
  }
})

test('signed metadata is replaced only by metadata of the same signer', async () => {
  const url = 'https://signed.simulated/metadata'
  const document = (loginUrl: string) =>
    metadataOf(provider, { entityId: 'https://signed.example.com', id: '_1', loginUrl })
  await place(url, signed(document('https://idp.example.com/one'), provider, '_1'))
  const created = await create({ idpMetadataUrl: url })
  assert.equal(created.status, 201, facts(created))
  const at = `${path}/${created.data.extId}`
  const stranger = await issue({ name: 'CN=stranger' })
  for (const next of [
    document('https://evil.example.com'),
    signed(document('https://evil.example.com'), stranger, '_1'),
  ]) {
    await place(url, next)
    await app.clock.advance(25 * 3600_000)
    assert.equal((await app.call('GET', at)).data.idpMetadata.loginUrl, 'https://idp.example.com/one')
  }
  await place(url, signed(document('https://idp.example.com/two'), provider, '_1'))
  await app.clock.advance(25 * 3600_000)
  assert.equal((await app.call('GET', at)).data.idpMetadata.loginUrl, 'https://idp.example.com/two')
})

test('a metadata URL that does not answer, leads to this machine or is not https is refused', async () => {
  assert.match(fault(await create({ idpMetadataUrl: 'https://nowhere.simulated/' })), /cannot be read: .*404/)
  assert.match(fault(await create({ idpMetadataUrl: 'https://127.0.0.1:1/' })), /loopback/)
  assert.match(fault(await create({ idpMetadataUrl: 'https://[::1/metadata' })), /cannot be read: it is no URL/)
  assert.equal((await create({ idpMetadataUrl: 'http://idp.simulated/metadata' })).status, 400)
})

test('a PUT of the body that was read is accepted, a new source replaces the old one, and fields alone remove the URL', async () => {
  const url = 'https://back.simulated/metadata'
  await place(url, metadataOf(provider, { entityId: entity() }))
  const created = await create({ idpMetadataUrl: url })
  const at = `${path}/${created.data.extId}`
  const put = async (change: (body: any) => object) => {
    const { data, etag } = await app.call('GET', at)
    return app.call('PUT', at, { body: change(data), ifMatch: etag as string })
  }
  const same = await put((body) => body)
  assert.equal(same.status, 200, facts(same))
  assert.equal(same.data.idpMetadataUrl, url)
  const renamed = await put(({ idpMetadataUrl: _, ...body }) => body)
  assert.equal(renamed.data.idpMetadataUrl, undefined)
  const xml = metadataOf(provider, { entityId: 'https://put.example.com' })
  const replaced = await put(({ idpMetadata: _, ...body }) => ({ ...body, idpMetadataXml: xml }))
  assert.equal(replaced.data.idpMetadata.entityId, 'https://put.example.com')
  const two = await put((body) => ({ ...body, idpMetadata: fields(), idpMetadataXml: xml }))
  assert.equal(two.status, 400)
})

test('a provider with users or groups is not deleted', async () => {
  const { data } = await create({ idpMetadata: fields() })
  const at = `${path}/${data.extId}`
  const remove = async () => app.call('DELETE', at, { ifMatch: (await app.call('GET', at)).etag as string })
  const group = { groupType: 'SAML', name: 'operators', idpId: data.extId }
  const created = await app.call('POST', '/iam/v4.1.b2/authn/user-groups', { body: group })
  assert.equal(created.status, 201, facts(created))
  const refused = await remove()
  assert.equal(refused.status, 409)
  assert.match(refused.errors[0]?.message ?? '', /1 user groups/)
  const groupAt = `/iam/v4.1.b2/authn/user-groups/${created.data.extId}`
  await app.call('DELETE', groupAt, { ifMatch: (await app.call('GET', groupAt)).etag as string })
  assert.equal((await remove()).status, 204)
})

test('lists filter by name and id, and a malformed id finds nothing', async () => {
  await create({ name: 'findable', idpMetadata: fields() })
  const found = await app.call('GET', `${path}?$filter=${encodeURIComponent("name eq 'findable'")}`)
  assert.deepEqual(
    found.data.map(({ name }: { name: string }) => name),
    ['findable'],
  )
  const none = await app.call('GET', `${path}?$filter=${encodeURIComponent("extId eq 'no-uuid'")}`)
  assert.equal(none.status, 200, facts(none))
  assert.deepEqual(none.data, [])
})

/** The elements of a document, by name without prefix. */
function elementsOf(text: string): (name: string) => XmlElement[] {
  const all: XmlElement[] = []
  const walk = (element: XmlElement): void => {
    all.push(element)
    for (const child of element.children) if (child instanceof XmlElement) walk(child)
  }
  walk(parseXml(text).root as XmlElement)
  return (name) => all.filter((element) => element.name.replace(/^.*:/, '') === name)
}

test('service provider metadata is text/xml with issuer, consumer and a certificate that parses', async () => {
  const answer = await app.call('GET', '/iam/v4.1.b2/authn/saml-sp-metadata')
  assert.equal(answer.status, 200)
  assert.equal(answer.data.contentType, 'text/xml')
  assert.match(answer.data.content, /^<\?xml version="1\.0" encoding="UTF-8"\?>\n/)
  const named = elementsOf(answer.data.content)
  const origin = (named('EntityDescriptor')[0]?.attributes['entityID'] ?? '').replace('/api/iam/authn', '')
  assert.equal(named('SPSSODescriptor')[0]?.attributes['AuthnRequestsSigned'], 'true')
  assert.equal(named('SPSSODescriptor')[0]?.attributes['WantAssertionsSigned'], 'true')
  assert.equal(named('AssertionConsumerService')[0]?.attributes['Location'], `${origin}/api/iam/authn/callback`)
  assert.deepEqual(
    named('KeyDescriptor').map(({ attributes }) => attributes['use']),
    ['signing', 'encryption'],
  )
  const certificate = new X509Certificate(Buffer.from(named('X509Certificate')[0]?.text ?? '', 'base64'))
  assert.equal(certificate.publicKey.asymmetricKeyDetails?.modulusLength, 2048)
  assert.ok(certificate.verify(certificate.publicKey))
  assert.equal(certificate.validToDate.getFullYear() - certificate.validFromDate.getFullYear(), 10)
  const again = await app.call('GET', '/iam/v4.1.b2/authn/saml-sp-metadata')
  assert.equal(again.data.content, answer.data.content)
})

test('the metadata for a provider has its issuer, redirect URL and name format, with special characters escaped', async () => {
  const { data } = await create({
    idpMetadata: fields({ nameIdPolicyFormat: 'emailAddress' }),
    entityIssuer: 'urn:us"<&>',
    redirectURL: 'https://console.example.com/cb?a=1&b=2',
    isSignedAuthnReqEnabled: false,
  })
  const answer = await app.call('GET', `${path}/${data.extId}/sp-metadata`)
  const named = elementsOf(answer.data.content)
  assert.equal(named('EntityDescriptor')[0]?.attributes['entityID'], 'urn:us"<&>')
  assert.equal(named('AssertionConsumerService')[0]?.attributes['Location'], 'https://console.example.com/cb?a=1&b=2')
  assert.equal(named('SPSSODescriptor')[0]?.attributes['AuthnRequestsSigned'], 'false')
  assert.equal(named('NameIDFormat')[0]?.text, 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress')
})

test('service provider metadata is available only as XML, and other formats are refused with JSON errors', async () => {
  const general = '/iam/v4.1.b2/authn/saml-sp-metadata'
  for (const accept of ['text/xml', 'text/xml,application/json', '*/*'])
    assert.equal((await app.call('GET', general, { accept })).status, 200, accept)
  assert.equal((await app.call('GET', general, { accept: 'text/html' })).status, 406)
  const unknown = await app.call('GET', `${path}/5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11/sp-metadata`)
  assert.equal(unknown.status, 404)
  assert.equal(unknown.errors[0]?.code, 'IAM-20005')
})

test('the private key of the service is sealed in the store', async () => {
  await app.call('GET', '/iam/v4.1.b2/authn/saml-sp-metadata')
  const { ServiceKey } = await import('../../../src/domains/iam/records.ts')
  const [row] = await app.store.find(ServiceKey)
  assert.ok(!JSON.stringify(row).includes('PRIVATE KEY'))
})

test('the demo has the provider corp-sso with a real certificate, its user bob and its group', async (t) => {
  const demo = await startApp()
  t.after(() => demo.close())
  const at = `${path}/${seedId('saml-identity-provider/corp-sso')}`
  const { data } = await demo.call('GET', at)
  assert.equal(data.name, 'corp-sso')
  assert.doesNotThrow(() => new X509Certificate(data.idpMetadata.certificate))
  const bob = await demo.call('GET', `/iam/v4.1.b2/authn/users/${seedId('user/bob')}`)
  assert.equal(bob.data.idpId, data.extId)
  const groups = await demo.call('GET', '/iam/v4.1.b2/authn/user-groups')
  const group = groups.data.find(({ name }: { name: string }) => name === 'saml-operators')
  assert.equal(group?.idpId, data.extId)
})

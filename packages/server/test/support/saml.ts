/** Metadata of identity providers, plain and signed, made for a test. */
import { sign } from 'node:crypto'
import { SignedXml } from 'xml-crypto'
import type { Issued } from './authorities.ts'

export interface MetadataOptions {
  readonly entityId?: string
  readonly id?: string
  readonly loginUrl?: string
  readonly nameIdFormats?: readonly string[]
  /** Inside an EntitiesDescriptor, as often as `copies` says. */
  readonly isWrapped?: boolean
  readonly copies?: number
}

const metadata = 'urn:oasis:names:tc:SAML:2.0:metadata'
const binding = 'urn:oasis:names:tc:SAML:2.0:bindings'

export function metadataOf(provider: Issued, options: MetadataOptions = {}): string {
  const { entityId = 'https://idp.example.com', nameIdFormats = [], copies = 1 } = options
  const loginUrl = options.loginUrl ?? 'https://idp.example.com/sso?tenant=1&amp;mode=redirect'
  const id = options.id === undefined ? '' : ` ID="${options.id}"`
  const certificate = Buffer.from(provider.certificate.rawData)
    .toString('base64')
    .replace(/(.{64})/g, '$1\n')
  const entity = `<md:EntityDescriptor xmlns:md="${metadata}" xmlns:ds="http://www.w3.org/2000/09/xmldsig#"${id} entityID="${entityId}">
  <md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol" errorURL="https://idp.example.com/error">
    <md:KeyDescriptor use="encryption"><ds:KeyInfo><ds:KeyName>none</ds:KeyName></ds:KeyInfo></md:KeyDescriptor>
    <md:KeyDescriptor use="signing">
      <ds:KeyInfo><ds:X509Data><ds:X509Certificate>
${certificate}
      </ds:X509Certificate></ds:X509Data></ds:KeyInfo>
    </md:KeyDescriptor>
    <md:SingleLogoutService Binding="${binding}:HTTP-Redirect" Location="https://idp.example.com/slo"/>
    ${nameIdFormats.map((format) => `<md:NameIDFormat>${format}</md:NameIDFormat>`).join('')}
    <md:SingleSignOnService Binding="${binding}:HTTP-POST" Location="https://idp.example.com/sso/post"/>
    <md:SingleSignOnService Binding="${binding}:HTTP-Redirect" Location="${loginUrl}"/>
  </md:IDPSSODescriptor>
</md:EntityDescriptor>`
  const content = options.isWrapped
    ? `<md:EntitiesDescriptor xmlns:md="${metadata}">${entity.repeat(copies)}</md:EntitiesDescriptor>`
    : entity
  return `<?xml version="1.0" encoding="UTF-8"?>\n${content}`
}

/** Signed as SAML wants it: enveloped, in the element of this ID, with the certificate of the signer. */
export function signed(xml: string, signer: Issued, id: string): string {
  const signing = new SignedXml({
    privateKey: signer.key,
    publicCert: signer.pem,
    signatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256',
    canonicalizationAlgorithm: 'http://www.w3.org/2001/10/xml-exc-c14n#',
  })
  signing.idAttributes = ['ID']
  signing.SignatureAlgorithms['http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256'] = EcdsaSha256
  signing.addReference({
    xpath: `//*[@ID='${id}']`,
    transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', 'http://www.w3.org/2001/10/xml-exc-c14n#'],
    digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha256',
  })
  signing.computeSignature(xml, {
    prefix: 'ds',
    location: { reference: `//*[@ID='${id}']`, action: 'prepend' },
  })
  return signing.getSignedXml()
}

/** As XML signatures write it: both numbers side by side. */
class EcdsaSha256 {
  getAlgorithmName = (): string => 'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256'
  getSignature = (signedInfo: unknown, key: unknown): string =>
    sign('sha256', Buffer.from(String(signedInfo)), { key: String(key), dsaEncoding: 'ieee-p1363' }).toString('base64')
  verifySignature = (): boolean => {
    throw new Error('nothing is verified here')
  }
}

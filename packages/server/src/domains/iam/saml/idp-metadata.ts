/** Reads the metadata document of a SAML identity provider. Source: behaviour iam.md 5. */
import { X509Certificate } from 'node:crypto'
import { maximumMetadataBytes, type SamlIdentityProvider } from '@hyperplane/contract/iam/saml-identity-provider'
import { parseTime } from '../../../core/time/clock.ts'
import { childrenOf, elementsIn, readXml, type XmlElement, XmlFault } from '../../../core/xml.ts'
import { readSigned, signatureNamespace } from './metadata-signature.ts'

export type IdpMetadata = NonNullable<SamlIdentityProvider['idpMetadata']>

export interface ReadMetadata {
  readonly idpMetadata: IdpMetadata
  readonly signer?: string
}

const metadataNamespace = 'urn:oasis:names:tc:SAML:2.0:metadata'
const protocol = 'urn:oasis:names:tc:SAML:2.0:protocol'
const bindings = [
  'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
  'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
] as const

/** SAML name identifier format -> name in this API. */
export const nameIdFormats: Readonly<Record<string, NonNullable<IdpMetadata['nameIdPolicyFormat']>>> = {
  'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress': 'emailAddress',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified': 'unspecified',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:X509SubjectName': 'X509SubjectName',
  'urn:oasis:names:tc:SAML:1.1:nameid-format:WindowsDomainQualifiedName': 'WindowsDomainQualifiedName',
  'urn:oasis:names:tc:SAML:2.0:nameid-format:encrypted': 'encrypted',
  'urn:oasis:names:tc:SAML:2.0:nameid-format:entity': 'entity',
  'urn:oasis:names:tc:SAML:2.0:nameid-format:kerberos': 'kerberos',
  'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent': 'persistent',
  'urn:oasis:names:tc:SAML:2.0:nameid-format:transient': 'transient',
}

const children = (element: XmlElement, name: string): readonly XmlElement[] =>
  childrenOf(element, metadataNamespace, name)

/** @param now world time. @throws XmlFault about the whole document */
export async function readIdpMetadata(text: string, now: number): Promise<ReadMetadata> {
  if (Buffer.byteLength(text) > maximumMetadataBytes)
    throw new XmlFault(`it is larger than ${maximumMetadataBytes} bytes`)
  const document = text.replace(/^\ufeff/, '')
  const documentRoot = await readXml(document)
  // Exactly one entity, so that a signature covers it or an element that contains it.
  entityIn(documentRoot)
  const { root, signer } = await readSigned(document, documentRoot)
  const entity = entityIn(root)
  const role = roleOf(entity)
  refuseExpired([documentRoot, root, entity, role], now)
  const logoutUrl = locationOf(role, 'SingleLogoutService')
  const errorUrl = role.attributes['errorURL']
  const loginUrl = locationOf(role, 'SingleSignOnService')
  if (loginUrl === undefined) throw new XmlFault('it has no SingleSignOnService with HTTP-Redirect or HTTP-POST')
  return {
    ...(signer === undefined ? {} : { signer }),
    idpMetadata: {
      entityId: entityIdOf(entity),
      loginUrl: urlIn('SingleSignOnService', loginUrl),
      ...(logoutUrl === undefined ? {} : { logoutUrl: urlIn('SingleLogoutService', logoutUrl) }),
      ...(errorUrl === undefined ? {} : { errorUrl: urlIn('errorURL', errorUrl) }),
      certificate: signingCertificate(role),
      nameIdPolicyFormat: nameIdFormats[children(role, 'NameIDFormat')[0]?.text.trim() ?? ''] ?? 'unspecified',
    },
  }
}

/** Reads PEM, or the base64 of DER. @throws Error if the text is not a certificate */
export function readCertificate(text: string): X509Certificate {
  if (text.includes('-----BEGIN')) return new X509Certificate(text)
  const bare = text.replace(/\s/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(bare)) throw new Error('not base64')
  return new X509Certificate(Buffer.from(bare, 'base64'))
}

function entityIn(root: XmlElement): XmlElement {
  const isNamed = (element: XmlElement, name: string): boolean =>
    element.namespace === metadataNamespace && element.name === name
  if (isNamed(root, 'EntityDescriptor')) return root
  if (!isNamed(root, 'EntitiesDescriptor')) throw new XmlFault('its root is no EntityDescriptor of SAML 2.0 metadata')
  const entities = [...elementsIn(root)].filter((element) => isNamed(element, 'EntityDescriptor'))
  const [entity] = entities
  if (entity === undefined || entities.length > 1)
    throw new XmlFault(`its EntitiesDescriptor describes ${entities.length} entities, expected one`)
  return entity
}

function roleOf(entity: XmlElement): XmlElement {
  const role = children(entity, 'IDPSSODescriptor').find((candidate) =>
    (candidate.attributes['protocolSupportEnumeration'] ?? '').split(/\s+/).includes(protocol),
  )
  if (role === undefined)
    throw new XmlFault('it describes no identity provider (IDPSSODescriptor) that speaks SAML 2.0')
  return role
}

function refuseExpired(elements: readonly XmlElement[], now: number): void {
  for (const element of elements) {
    const text = element.attributes['validUntil']
    if (text === undefined) continue
    // Without an offset it is UTC (SAML 2.0 core 1.3.3).
    const time = parseTime(/(?:Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`)
    if (time === undefined) throw new XmlFault(`the validUntil of its ${element.name} is no time`)
    if (time <= now) throw new XmlFault(`its ${element.name} has expired: it was valid until ${text}`)
  }
}

function entityIdOf(entity: XmlElement): string {
  const entityId = entity.attributes['entityID'] ?? ''
  if (entityId === '' || entityId.length > 1024)
    throw new XmlFault('its entityID is absent, or longer than 1,024 characters')
  return entityId
}

const locationOf = (role: XmlElement, service: string): string | undefined =>
  bindings
    .flatMap((binding) => children(role, service).filter(({ attributes }) => attributes['Binding'] === binding))
    .map(({ attributes }) => attributes['Location'])[0]

function urlIn(what: string, text: string): string {
  const isUrl = text.length <= 2048 && /^https?:\/\/[^\s/?#]+\S*$/.test(text) && URL.canParse(text)
  if (!isUrl) throw new XmlFault(`its ${what} is no http or https URL of up to 2,048 characters`)
  return text
}

function signingCertificate(role: XmlElement): string {
  const [text] = children(role, 'KeyDescriptor')
    .filter(({ attributes }) => (attributes['use'] ?? 'signing') === 'signing')
    .flatMap((key) => childrenOf(key, signatureNamespace, 'KeyInfo'))
    .flatMap((info) => childrenOf(info, signatureNamespace, 'X509Data'))
    .flatMap((data) => childrenOf(data, signatureNamespace, 'X509Certificate'))
    .map((element) => element.text.replace(/\s/g, ''))
  if (text === undefined) throw new XmlFault('it has no signing certificate (KeyDescriptor)')
  try {
    readCertificate(text)
  } catch (cause) {
    throw new XmlFault('its signing certificate cannot be read', { cause })
  }
  return text
}

/**
 * All signatures must be valid, and only signed bytes are read (signature wrapping). They identify the signer; the administrator decides
 * about trust. Source: behaviour iam.md 5; SAML 2.0 metadata 3.
 */
import { createHash, verify, X509Certificate } from 'node:crypto'
import { childrenOf, elementsIn, readXml, type XmlElement, XmlFault } from '../../../core/xml.ts'

export const signatureNamespace = 'http://www.w3.org/2000/09/xmldsig#'
const maximumSignatures = 2
/** The time to verify a document grows faster than linearly with each of these. */
const limits = [
  { what: 'characters', maximum: 512 * 1024, count: (text: string) => text.length },
  { what: 'tags, comments and the like', maximum: 3000, count: (text: string) => occurrences(text, /</g) },
  { what: 'attributes', maximum: 4000, count: (text: string) => occurrences(text, /=\s*["']/g) },
  { what: 'namespace declarations', maximum: 400, count: (text: string) => occurrences(text, /\sxmlns/g) },
]
const minimumRsaBits = 2048

export interface SignedContent {
  readonly root: XmlElement
  readonly signer?: string
}

const hashAlgorithms = ['http://www.w3.org/2001/04/xmlenc#sha256', 'http://www.w3.org/2001/04/xmlenc#sha512']
const rsaAlgorithms = [
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
]
const ecdsaAlgorithms = {
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384': 'sha384',
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512': 'sha512',
} as const
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#'
const inclusive = 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315'
const transforms = new Set([
  'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
  exclusive,
  `${exclusive}WithComments`,
  inclusive,
  `${inclusive}#WithComments`,
])

const occurrences = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

const isSignature = ({ namespace, name }: XmlElement): boolean =>
  namespace === signatureNamespace && name === 'Signature'

/** @returns the part of the document that may be read. @throws XmlFault */
export async function readSigned(text: string, root: XmlElement): Promise<SignedContent> {
  const all = [...elementsIn(root)]
  const signatures = all.filter(isSignature)
  if (signatures.length === 0) return { root }
  if (signatures.length > maximumSignatures) throw new XmlFault(`it has more than ${maximumSignatures} signatures`)
  for (const { what, maximum, count } of limits)
    if (count(text) > maximum) throw new XmlFault(`it is signed, and has more than ${maximum} ${what}`)
  const holders = all.filter((element) => element.children.some(isSignature))
  const ids = all.flatMap(({ attributes }) => attributes['ID'] ?? [])
  if (new Set(ids).size < ids.length) throw new XmlFault('an ID occurs twice')
  const verified = []
  for (const holder of holders) {
    if (holder.children.filter(isSignature).length > 1) throw new XmlFault('an element has two signatures')
    checkReference(holder, root)
    verified.push(await verifySignature(text, holder))
  }
  // The outermost signed element contains all the others.
  return verified[0] as SignedContent
}

/** The signature must refer to its own parent element, and to nothing else. */
function checkReference(holder: XmlElement, root: XmlElement): void {
  const [signature] = holder.children.filter(isSignature)
  const references = [...elementsIn(signature as XmlElement)].filter(
    ({ namespace, name }) => namespace === signatureNamespace && name === 'Reference',
  )
  const [reference] = references
  if (reference === undefined || references.length > 1) throw new XmlFault('a signature has not exactly one reference')
  const uri = reference.attributes['URI'] ?? ''
  const id = holder.attributes['ID']
  const names = uri === '' ? holder === root : id !== undefined && uri === `#${id}`
  if (!names) throw new XmlFault('a signature does not sign the element that contains it')
  const methods = childrenOf(reference, signatureNamespace, 'Transforms').flatMap((list) => list.children)
  if (methods.some(({ attributes }) => !transforms.has(attributes['Algorithm'] ?? '')))
    throw new XmlFault('a signature transforms what it signs in a way that is not allowed')
}

async function verifySignature(text: string, holder: XmlElement): Promise<SignedContent> {
  const certificate = signerOf(holder)
  const { SignedXml } = await import('xml-crypto')
  const signed = new SignedXml({ publicCert: certificate.toString(), getCertFromKeyInfo: () => null })
  signed.idAttributes = ['ID']
  signed.HashAlgorithms = picked(signed.HashAlgorithms, hashAlgorithms)
  signed.SignatureAlgorithms = { ...picked(signed.SignatureAlgorithms, rsaAlgorithms), ...ecdsa }
  let content: string | undefined
  try {
    signed.loadSignature(await signatureNode(text, holder))
    if (signed.checkSignature(text)) content = signed.getSignedReferences()[0]
  } catch (cause) {
    throw new XmlFault('its signature does not hold, or uses an algorithm that is not accepted (SHA-1)', { cause })
  }
  if (content === undefined)
    throw new XmlFault('its signature does not hold: the document was changed after it was signed')
  const root = await readXml(content)
  if (
    root.name !== holder.name ||
    root.namespace !== holder.namespace ||
    root.attributes['ID'] !== holder.attributes['ID']
  )
    throw new XmlFault('a signature does not sign the element that contains it')
  return { root, signer: createHash('sha256').update(certificate.raw).digest('hex') }
}

/** The signer inside the signature is compared with the former one, not with a trust store. */
function signerOf(holder: XmlElement): X509Certificate {
  const [signature] = holder.children.filter(isSignature)
  const [text] = childrenOf(signature as XmlElement, signatureNamespace, 'KeyInfo')
    .flatMap((info) => childrenOf(info, signatureNamespace, 'X509Data'))
    .flatMap((data) => childrenOf(data, signatureNamespace, 'X509Certificate'))
    .map((element) => element.text.replace(/\s/g, ''))
  if (text === undefined)
    throw new XmlFault('its signature does not bring the certificate of its signer (X509Certificate)')
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(Buffer.from(text, 'base64'))
  } catch (cause) {
    throw new XmlFault('the certificate of its signer cannot be read', { cause })
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey
  const isStrong = type === 'ec' || (type === 'rsa' && (details?.modulusLength ?? 0) >= minimumRsaBits)
  if (!isStrong)
    throw new XmlFault(`the key of its signer is neither RSA of ${minimumRsaBits} bits nor of an elliptic curve`)
  return certificate
}

async function signatureNode(text: string, holder: XmlElement): Promise<Node> {
  const { DOMParser } = await import('@xmldom/xmldom')
  const document = new DOMParser({ errorHandler: raise }).parseFromString(text, 'text/xml')
  const found = Array.from(document.getElementsByTagNameNS(signatureNamespace, 'Signature')).find((node) => {
    const parent = node.parentNode as Element
    return (parent.getAttribute('ID') || undefined) === holder.attributes['ID'] && parent.localName === holder.name
  })
  if (found === undefined) throw new XmlFault('its signature cannot be found again')
  return found as unknown as Node
}

function raise(_level: string, message: unknown): never {
  throw new XmlFault('it is not well-formed XML', { cause: message })
}

const picked = <T>(from: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> =>
  Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])))

const ecdsa = Object.fromEntries(
  Object.entries(ecdsaAlgorithms).map(([name, digest]) => [
    name,
    class {
      getAlgorithmName = (): string => name
      getSignature = (): never => {
        throw new Error('nothing is signed here')
      }
      verifySignature = (material: string, key: unknown, value: string): boolean =>
        verify(
          digest,
          Buffer.from(material),
          { key: String(key), dsaEncoding: 'ieee-p1363' },
          Buffer.from(value, 'base64'),
        )
    },
  ]),
)

/** Reads the metadata of an identity provider from fields, a document or a URL. Source: behaviour iam.md 5. */
import { maximumMetadataBytes } from '@hyperplane/contract/iam/saml-identity-provider'
import { ApiError } from '../../../core/api-error.ts'
import { formatTime } from '../../../core/time/clock.ts'
import { XmlFault } from '../../../core/xml.ts'
import { type Web, WebError } from '../../../drivers/web.ts'
import { type IdpMetadata, readCertificate, readIdpMetadata } from './idp-metadata.ts'

export interface Sources {
  readonly idpMetadata?: IdpMetadata
  readonly idpMetadataXml?: string
  readonly idpMetadataUrl?: string
}

export interface MetadataFields {
  readonly idpMetadata: IdpMetadata
  readonly idpMetadataUrl?: string
  readonly metadataReadTime?: string
  readonly metadataSigner?: string
}

export type Read = { readonly fields: MetadataFields; readonly warning?: string } | { readonly fault: ApiError }

interface ReadOptions {
  readonly web: Web
  readonly now: number
}

const timeoutMilliseconds = 5000

export const sourceNames = ['idpMetadata', 'idpMetadataXml', 'idpMetadataUrl'] as const

const invalidMetadata = (attributePath: string, fault: string, cause?: unknown): ApiError =>
  new ApiError('TRUST_MATERIAL_INVALID', { attributePath, fault }, { cause })

/** Returns faults: a retry of a successful request must not fail. */
export async function readMetadataSource(sources: Sources, options: ReadOptions): Promise<Read | undefined> {
  if (sources.idpMetadata !== undefined) return judged({ idpMetadata: sources.idpMetadata }, options.now)
  if (sources.idpMetadataXml !== undefined) return readDocument('idpMetadataXml', sources.idpMetadataXml, options.now)
  if (sources.idpMetadataUrl !== undefined) return readUrl(sources.idpMetadataUrl, options)
  return undefined
}

/** @param signer of the former document; must have signed this one as well */
export async function readUrl(url: string, { web, now }: ReadOptions, signer?: string): Promise<Read> {
  const path = 'idpMetadataUrl'
  let text: string
  try {
    const content = await web.fetch({ url, maximumBytes: maximumMetadataBytes, timeoutMilliseconds })
    text = new TextDecoder('utf-8', { fatal: true }).decode(content)
  } catch (cause) {
    if (cause instanceof WebError) return { fault: invalidMetadata(path, `cannot be read: ${cause.message}.`, cause) }
    return { fault: invalidMetadata(path, 'the document is not in UTF-8.', cause) }
  }
  const read = await readDocument(path, text, now)
  if ('fault' in read) return read
  if (signer !== undefined && read.fields.metadataSigner !== signer) {
    const fault = 'the document is not signed by the signer of the former one. If that is right, give the URL again.'
    return { fault: invalidMetadata(path, fault) }
  }
  return { ...read, fields: { ...read.fields, idpMetadataUrl: url, metadataReadTime: formatTime(now) } }
}

async function readDocument(path: string, text: string, now: number): Promise<Read> {
  try {
    const { idpMetadata, signer } = await readIdpMetadata(text, now)
    return judged({ idpMetadata, ...(signer === undefined ? {} : { metadataSigner: signer }) }, now)
  } catch (cause) {
    if (!(cause instanceof XmlFault)) throw cause
    return { fault: invalidMetadata(path, `the metadata is refused: ${cause.message}.`, cause) }
  }
}

function judged(fields: MetadataFields, now: number): Read {
  try {
    const { validToDate, validFromDate } = readCertificate(fields.idpMetadata.certificate)
    if (validToDate.getTime() <= now)
      return {
        fields,
        warning: `The certificate of the identity provider has expired on ${formatTime(validToDate.getTime())}.`,
      }
    if (validFromDate.getTime() > now)
      return {
        fields,
        warning: `The certificate of the identity provider is not valid before ${formatTime(validFromDate.getTime())}.`,
      }
    return { fields }
  } catch (cause) {
    const fault = 'expected an X.509 certificate, as PEM or as the base64 of its DER form, found something else.'
    return { fault: invalidMetadata('idpMetadata/certificate', fault, cause) }
  }
}

/** SAML metadata of this service, in the order of the OASIS schema. Source: behaviour iam.md 5. */

import { escapeXml } from '../../../core/xml.ts'
import { nameIdFormats } from './idp-metadata.ts'

export interface ServiceProvider {
  readonly entityId: string
  readonly assertionConsumerUrl: string
  readonly signsRequests: boolean
  readonly nameIdFormat: string
  readonly certificate: string
}

export function spMetadata(provider: ServiceProvider): string {
  const certificate = provider.certificate.replace(/-----[A-Z ]+-----|\s/g, '')
  const format = Object.entries(nameIdFormats).find(([, name]) => name === provider.nameIdFormat)?.[0] as string
  const key = (use: 'signing' | 'encryption'): string => `    <md:KeyDescriptor use="${use}">
      <ds:KeyInfo>
        <ds:X509Data>
          <ds:X509Certificate>${certificate}</ds:X509Certificate>
        </ds:X509Data>
      </ds:KeyInfo>
    </md:KeyDescriptor>`
  return `<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" entityID="${escapeXml(provider.entityId)}">
  <md:SPSSODescriptor AuthnRequestsSigned="${provider.signsRequests}" WantAssertionsSigned="true" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
${key('signing')}
${key('encryption')}
    <md:NameIDFormat>${format}</md:NameIDFormat>
    <md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="${escapeXml(provider.assertionConsumerUrl)}" index="0" isDefault="true"/>
  </md:SPSSODescriptor>
</md:EntityDescriptor>
`
}

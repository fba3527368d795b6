import { typeIn } from '../profiles/names.ts'
import { type RenderSettings, reservedOf } from '../profiles/render.ts'
import { type MetadataParts, metadataWriter } from './metadata.ts'

/** @param data JSON text; undefined: none. Source: conventions 2.3 */
export type EnvelopeText = (parts: MetadataParts, data: string | undefined, discriminator: string | undefined) => string

export function envelopeText(type: string, settings: RenderSettings, isPaged: boolean): EnvelopeText {
  const metadata = metadataWriter(settings, isPaged)
  const dataText = (data: string | undefined): string => (data === undefined ? '' : `,"data":${data}`)
  if (settings.profile === 'spec') return (parts, data) => `{"metadata":${metadata(parts)}${dataText(data)}}`
  const begin = `{"$objectType":${JSON.stringify(typeIn('public', type))},"$reserved":${JSON.stringify(reservedOf(settings, type))}`
  return (parts, data, discriminator) => {
    const item = discriminator === undefined ? '' : `,"$dataItemDiscriminator":${JSON.stringify(discriminator)}`
    return `${begin}${item},"metadata":${metadata(parts)}${dataText(data)}}`
  }
}

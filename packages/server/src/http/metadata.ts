/** The `metadata` of an answer as text. Source: conventions 2.3. */

import { ApiResponseMetadata } from '@hyperplane/contract/envelope'
import type { Reply } from '../core/reply.ts'
import type { Link } from './asked.ts'
import { type RenderSettings, rendererOf } from './profiles/render.ts'

export interface MetadataParts {
  readonly links: readonly Link[]
  readonly hasError?: boolean
  readonly total?: Reply['total'] | undefined
  readonly truncated?: Reply['truncated'] | undefined
  readonly truncatedIndexes?: Reply['truncatedIndexes'] | undefined
  readonly warnings?: Reply['warnings'] | undefined
}

/** Stands in no link, and is easy to find in JSON. */
const hole = '\u0000'

/** Writes the metadata of one operation's answers, or of refusals. */
export function metadataWriter(using: RenderSettings, isPaged: boolean): (parts: MetadataParts) => string {
  const render = rendererOf(ApiResponseMetadata, using)
  const whole = ({ links, hasError, total, truncated, truncatedIndexes, warnings = [] }: MetadataParts): string =>
    render(
      {
        flags: [
          { name: 'hasError', value: hasError === true },
          { name: 'isPaginated', value: isPaged },
          { name: 'isTruncated', value: truncated === true },
        ],
        links,
        totalAvailableResults: total,
        messages: warnings.map((message) => ({ code: 'PLAT-10000', message, locale: 'en_US', severity: 'WARNING' })),
        ...(truncatedIndexes === undefined
          ? {}
          : { extraInfo: [{ name: 'truncatedIndexes', value: truncatedIndexes }] }),
      },
      '',
    )
  // Most answers differ in their link to themselves alone: what stands around it is written once.
  const [before = '', after = ''] = whole({ links: [{ href: hole, rel: 'self' }] }).split(JSON.stringify(hole))
  return (parts) => {
    const { links, hasError, total, truncated, warnings = [] } = parts
    const isUsual =
      links.length === 1 &&
      links[0]?.rel === 'self' &&
      total === undefined &&
      truncated !== true &&
      hasError !== true &&
      warnings.length === 0
    return isUsual ? `${before}${JSON.stringify(links[0]?.href)}${after}` : whole(parts)
  }
}

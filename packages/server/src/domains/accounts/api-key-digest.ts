import { createHash } from 'node:crypto'

/** The digest identifies a key without revealing it. */
export const apiKeyDigest = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex')

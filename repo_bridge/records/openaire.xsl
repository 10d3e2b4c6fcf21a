<?xml version="1.0" encoding="UTF-8"?>
<!-- OpenAIRE's guidelines for literature repositories 4.0 (DataCite 4 inside), from all public fields of an item (DIM). -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:dim="http://www.dspace.org/xmlns/dspace/dim"
  xmlns:oaire="http://namespace.openaire.eu/schema/oaire/" xmlns:datacite="http://datacite.org/schema/kernel-4"
  xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xmlns:map="urn:map" exclude-result-prefixes="dim map">
  <xsl:strip-space elements="*"/>

  <!-- COAR's vocabularies: what DSpace calls it, the general type, and the last part of the URI. -->
  <map:types>
    <map:type name="article" general="literature" uri="c_6501"/>
    <map:type name="journal article" general="literature" uri="c_6501"/>
    <map:type name="book" general="literature" uri="c_2f33"/>
    <map:type name="book chapter" general="literature" uri="c_3248"/>
    <map:type name="book part" general="literature" uri="c_3248"/>
    <map:type name="conference paper" general="literature" uri="c_5794"/>
    <map:type name="dataset" general="dataset" uri="c_ddb1"/>
    <map:type name="doctoral thesis" general="literature" uri="c_db06"/>
    <map:type name="image" general="other research product" uri="c_c513"/>
    <map:type name="learning object" general="other research product" uri="c_e059"/>
    <map:type name="master thesis" general="literature" uri="c_bdcc"/>
    <map:type name="preprint" general="literature" uri="c_816b"/>
    <map:type name="report" general="literature" uri="c_93fc"/>
    <map:type name="software" general="software" uri="c_5ce6"/>
    <map:type name="technical report" general="literature" uri="c_18gh"/>
    <map:type name="thesis" general="literature" uri="c_46ec"/>
    <map:type name="video" general="other research product" uri="c_12ce"/>
    <map:type name="working paper" general="literature" uri="c_8042"/>
  </map:types>
  <map:rights>
    <map:right name="open access" uri="c_abf2"/>
    <map:right name="embargoed access" uri="c_f1cf"/>
    <map:right name="restricted access" uri="c_16ec"/>
    <map:right name="metadata only access" uri="c_14cb"/>
  </map:rights>
  <xsl:variable name="types" select="document('')//map:type"/>
  <xsl:variable name="rights" select="document('')//map:right"/>
  <xsl:variable name="upper" select="'ABCDEFGHIJKLMNOPQRSTUVWXYZ'"/>
  <xsl:variable name="lower" select="'abcdefghijklmnopqrstuvwxyz'"/>

  <xsl:template match="/dim:dim">
    <xsl:variable name="dc" select="dim:field[@mdschema='dc' and normalize-space()]"/>
    <oaire:resource xsi:schemaLocation="http://namespace.openaire.eu/schema/oaire/ https://www.openaire.eu/schema/repo-lit/4.0/openaire.xsd">
      <xsl:if test="$dc[@element='title']">
        <datacite:titles>
          <xsl:for-each select="$dc[@element='title']">
            <datacite:title>
              <xsl:call-template name="language"/>
              <xsl:if test="@qualifier='alternative'"><xsl:attribute name="titleType">AlternativeTitle</xsl:attribute></xsl:if>
              <xsl:value-of select="."/>
            </datacite:title>
          </xsl:for-each>
        </datacite:titles>
      </xsl:if>
      <xsl:variable name="creators" select="$dc[@element='creator' or (@element='contributor' and @qualifier='author')]"/>
      <xsl:if test="$creators">
        <datacite:creators>
          <xsl:for-each select="$creators">
            <datacite:creator>
              <datacite:creatorName><xsl:value-of select="."/></datacite:creatorName>
              <xsl:call-template name="orcid"/>
            </datacite:creator>
          </xsl:for-each>
        </datacite:creators>
      </xsl:if>
      <xsl:variable name="contributors" select="$dc[@element='contributor' and not(@qualifier='author')]"/>
      <xsl:if test="$contributors">
        <datacite:contributors>
          <xsl:for-each select="$contributors">
            <datacite:contributor>
              <xsl:attribute name="contributorType">
                <xsl:choose>
                  <xsl:when test="@qualifier='advisor'">Supervisor</xsl:when>
                  <xsl:when test="@qualifier='editor'">Editor</xsl:when>
                  <xsl:otherwise>Other</xsl:otherwise>
                </xsl:choose>
              </xsl:attribute>
              <datacite:contributorName><xsl:value-of select="."/></datacite:contributorName>
              <xsl:call-template name="orcid"/>
            </datacite:contributor>
          </xsl:for-each>
        </datacite:contributors>
      </xsl:if>
      <xsl:variable name="related" select="$dc[@element='identifier' and (@qualifier='doi' or @qualifier='isbn' or @qualifier='issn')]"/>
      <xsl:if test="$related">
        <datacite:relatedIdentifiers>
          <xsl:for-each select="$related">
            <datacite:relatedIdentifier relatedIdentifierType="{translate(@qualifier, $lower, $upper)}">
              <xsl:attribute name="relationType">
                <xsl:choose>
                  <xsl:when test="@qualifier='doi'">IsVersionOf</xsl:when>
                  <xsl:otherwise>IsPartOf</xsl:otherwise>
                </xsl:choose>
              </xsl:attribute>
              <xsl:value-of select="."/>
            </datacite:relatedIdentifier>
          </xsl:for-each>
        </datacite:relatedIdentifiers>
      </xsl:if>
      <xsl:variable name="dates" select="$dc[@element='date' and (@qualifier='issued' or @qualifier='available' or @qualifier='created' or @qualifier='submitted')] | dim:field[@mdschema='dcterms' and @element='available']"/>
      <xsl:if test="$dates">
        <datacite:dates>
          <xsl:for-each select="$dates">
            <datacite:date>
              <xsl:attribute name="dateType">
                <xsl:choose>
                  <xsl:when test="@qualifier='issued'">Issued</xsl:when>
                  <xsl:when test="@qualifier='created'">Created</xsl:when>
                  <xsl:when test="@qualifier='submitted'">Submitted</xsl:when>
                  <xsl:otherwise>Available</xsl:otherwise>
                </xsl:choose>
              </xsl:attribute>
              <xsl:value-of select="."/>
            </datacite:date>
          </xsl:for-each>
        </datacite:dates>
      </xsl:if>
      <xsl:for-each select="$dc[@element='language']"><dc:language><xsl:value-of select="."/></dc:language></xsl:for-each>
      <xsl:for-each select="$dc[@element='publisher']"><dc:publisher><xsl:value-of select="."/></dc:publisher></xsl:for-each>
      <xsl:for-each select="$dc[@element='type'][1]">
        <xsl:variable name="name" select="translate(., $upper, $lower)"/>
        <xsl:variable name="type" select="$types[@name=$name]"/>
        <oaire:resourceType resourceTypeGeneral="other research product" uri="http://purl.org/coar/resource_type/c_1843">
          <xsl:if test="$type">
            <xsl:attribute name="resourceTypeGeneral"><xsl:value-of select="$type/@general"/></xsl:attribute>
            <xsl:attribute name="uri">http://purl.org/coar/resource_type/<xsl:value-of select="$type/@uri"/></xsl:attribute>
          </xsl:if>
          <xsl:value-of select="$name"/>
        </oaire:resourceType>
      </xsl:for-each>
      <xsl:for-each select="$dc[@element='description' and @qualifier='abstract']">
        <dc:description><xsl:call-template name="language"/><xsl:value-of select="."/></dc:description>
      </xsl:for-each>
      <xsl:for-each select="$dc[@element='identifier' and @qualifier='uri'][1]">
        <datacite:identifier>
          <xsl:attribute name="identifierType">
            <xsl:choose>
              <xsl:when test="contains(., 'hdl.handle.net/')">Handle</xsl:when>
              <xsl:when test="contains(., 'doi.org/')">DOI</xsl:when>
              <xsl:otherwise>URL</xsl:otherwise>
            </xsl:choose>
          </xsl:attribute>
          <xsl:value-of select="."/>
        </datacite:identifier>
      </xsl:for-each>
      <xsl:for-each select="$dc[@element='rights' and not(@qualifier)]">
        <xsl:variable name="right" select="$rights[@name=translate(current(), $upper, $lower)]"/>
        <xsl:if test="$right">
          <datacite:rights rightsURI="http://purl.org/coar/access_right/{$right/@uri}"><xsl:value-of select="$right/@name"/></datacite:rights>
        </xsl:if>
      </xsl:for-each>
      <xsl:if test="$dc[@element='subject']">
        <datacite:subjects>
          <xsl:for-each select="$dc[@element='subject']">
            <datacite:subject><xsl:call-template name="language"/><xsl:value-of select="."/></datacite:subject>
          </xsl:for-each>
        </datacite:subjects>
      </xsl:if>
      <xsl:for-each select="$dc[@element='rights' and (@qualifier='uri' or @qualifier='license') and starts-with(., 'http')][1]">
        <oaire:licenseCondition uri="{.}"><xsl:value-of select="."/></oaire:licenseCondition>
      </xsl:for-each>
      <xsl:for-each select="$dc[@element='coverage']"><dc:coverage><xsl:value-of select="."/></dc:coverage></xsl:for-each>
      <xsl:for-each select="dim:field[@mdschema='oaire' and @element='citation' and normalize-space()]">
        <xsl:choose>
          <xsl:when test="@qualifier='title'"><oaire:citationTitle><xsl:value-of select="."/></oaire:citationTitle></xsl:when>
          <xsl:when test="@qualifier='volume'"><oaire:citationVolume><xsl:value-of select="."/></oaire:citationVolume></xsl:when>
          <xsl:when test="@qualifier='issue'"><oaire:citationIssue><xsl:value-of select="."/></oaire:citationIssue></xsl:when>
          <xsl:when test="@qualifier='startPage'"><oaire:citationStartPage><xsl:value-of select="."/></oaire:citationStartPage></xsl:when>
          <xsl:when test="@qualifier='endPage'"><oaire:citationEndPage><xsl:value-of select="."/></oaire:citationEndPage></xsl:when>
        </xsl:choose>
      </xsl:for-each>
    </oaire:resource>
  </xsl:template>

  <xsl:template name="language">
    <xsl:if test="@lang and not(translate(@lang, concat($upper, $lower, '_-0123456789'), ''))"><xsl:attribute name="xml:lang"><xsl:value-of select="translate(@lang, '_', '-')"/></xsl:attribute></xsl:if>
  </xsl:template>

  <!-- An authority that is, or ends with, an ORCID: four groups of four, of which the last may end with an X. -->
  <xsl:template name="orcid">
    <xsl:variable name="id" select="substring(@authority, string-length(@authority) - 18)"/>
    <xsl:if test="translate($id, '123456789X', '0000000000') = '0000-0000-0000-0000'">
      <datacite:nameIdentifier nameIdentifierScheme="ORCID" schemeURI="https://orcid.org"><xsl:value-of select="$id"/></datacite:nameIdentifier>
    </xsl:if>
  </xsl:template>
</xsl:stylesheet>

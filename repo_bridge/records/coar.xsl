<?xml version="1.0" encoding="UTF-8"?>
<!-- What the crosswalks of OpenAIRE and Rioxx share: an item's fields in XOAI by their names, and COAR's vocabularies. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:doc="http://www.lyncode.com/xoai"
  xmlns:map="urn:map" xmlns:exsl="http://exslt.org/common" exclude-result-prefixes="doc map exsl">
  <xsl:strip-space elements="doc:metadata doc:element"/>

  <!-- Values of a field, such as dc.title.alternative; of a field with all its qualifiers; and those with an authority. -->
  <xsl:key name="field" match="doc:metadata/doc:element/doc:element/doc:element/doc:field[@name='value']"
    use="concat(../../../@name, '.', ../../@name)"/>
  <xsl:key name="field" match="doc:metadata/doc:element/doc:element/doc:element/doc:element/doc:field[@name='value']"
    use="concat(../../../../@name, '.', ../../../@name, '.', ../../@name)"/>
  <xsl:key name="element" match="doc:metadata/doc:element/doc:element/doc:element/doc:field[@name='value']"
    use="concat(../../../@name, '.', ../../@name)"/>
  <xsl:key name="element" match="doc:metadata/doc:element/doc:element/doc:element/doc:element/doc:field[@name='value']"
    use="concat(../../../../@name, '.', ../../../@name)"/>
  <xsl:key name="authority" match="doc:field[@name='value']" use="following-sibling::doc:field[1][@name='authority']"/>

  <xsl:variable name="coarmaps">
    <!-- What DSpace calls a type, and the last part of its URI in the version of the vocabulary that OpenAIRE 4.0 has. -->
    <map:types>
      <map:type uri="c_1162">annotation</map:type>
      <map:type uri="c_6501">article</map:type>
      <map:type uri="c_6501">journal article</map:type>
      <map:type uri="c_7a1f">bachelor thesis</map:type>
      <map:type uri="c_86bc">bibliography</map:type>
      <map:type uri="c_2f33">book</map:type>
      <map:type uri="c_3248">book chapter</map:type>
      <map:type uri="c_3248">book part</map:type>
      <map:type uri="c_ba08">book review</map:type>
      <map:type uri="c_12cc">cartographic material</map:type>
      <map:type uri="c_c94f">conference object</map:type>
      <map:type uri="c_5794">conference paper</map:type>
      <map:type uri="c_6670">conference poster</map:type>
      <map:type uri="c_f744">conference proceedings</map:type>
      <map:type uri="c_beb9">data paper</map:type>
      <map:type uri="c_ddb1" general="dataset">dataset</map:type>
      <map:type uri="c_db06">doctoral thesis</map:type>
      <map:type uri="c_b239">editorial</map:type>
      <map:type uri="c_c513" general="other research product">image</map:type>
      <map:type uri="c_ecc8" general="other research product">image, 3-d</map:type>
      <map:type uri="c_e9a0" general="other research product">interactive resource</map:type>
      <map:type uri="c_18ww">internal report</map:type>
      <map:type uri="c_0640">journal</map:type>
      <map:type uri="c_8544">lecture</map:type>
      <map:type uri="c_0857">letter</map:type>
      <map:type uri="c_545b">letter to the editor</map:type>
      <map:type uri="c_12cd" general="other research product">map</map:type>
      <map:type uri="c_bdcc">master thesis</map:type>
      <map:type uri="c_8a7e" general="other research product">animation</map:type>
      <map:type uri="c_8a7e" general="other research product">moving image</map:type>
      <map:type uri="c_18cw" general="other research product">musical notation</map:type>
      <map:type uri="c_18cw" general="other research product">musical score</map:type>
      <map:type uri="c_15cd" general="other research product">patent</map:type>
      <map:type uri="c_2659">periodical</map:type>
      <map:type uri="c_816b">preprint</map:type>
      <map:type uri="c_c94f">presentation</map:type>
      <map:type uri="c_18cc" general="other research product">recording, acoustical</map:type>
      <map:type uri="c_18cc" general="other research product">recording, musical</map:type>
      <map:type uri="c_18cc" general="other research product">recording, oral</map:type>
      <map:type uri="c_93fc">report</map:type>
      <map:type uri="c_ba1f">report part</map:type>
      <map:type uri="c_2df8fbb1">research article</map:type>
      <map:type uri="c_baaf">research proposal</map:type>
      <map:type uri="c_18ws">research report</map:type>
      <map:type uri="c_efa0">review</map:type>
      <map:type uri="c_dcae04bc">review article</map:type>
      <map:type uri="c_5ce6" general="software">software</map:type>
      <map:type uri="c_18cc" general="other research product">sound</map:type>
      <map:type uri="c_ecc8" general="other research product">still image</map:type>
      <map:type uri="c_71bd">technical documentation</map:type>
      <map:type uri="c_18gh">technical report</map:type>
      <map:type uri="c_18cf">text</map:type>
      <map:type uri="c_46ec">thesis</map:type>
      <map:type uri="c_12ce" general="other research product">video</map:type>
      <map:type uri="c_7ad9" general="other research product">website</map:type>
      <map:type uri="c_393c" general="other research product">workflow</map:type>
      <map:type uri="c_8042">working paper</map:type>
      <map:type uri="c_1843" general="other research product">other</map:type>
    </map:types>
    <!-- DSpace's access status; each right by its name in the vocabulary. -->
    <map:rights>
      <map:right status="open.access" uri="c_abf2">open access</map:right>
      <map:right status="embargo" uri="c_f1cf">embargoed access</map:right>
      <map:right status="restricted" uri="c_16ec">restricted access</map:right>
      <map:right status="metadata.only" uri="c_14cb">metadata only access</map:right>
    </map:rights>
    <map:versions>
      <map:version uri="c_b1a7d7d4d402bcce">AO</map:version>
      <map:version uri="c_71e4c1898caa6e32">SMUR</map:version>
      <map:version uri="c_ab4af688f83e57aa">AM</map:version>
      <map:version uri="c_fa2ee174bc00049f">P</map:version>
      <map:version uri="c_970fb48d4fbd8a85">VoR</map:version>
      <map:version uri="c_e19f295774971610">CVoR</map:version>
      <map:version uri="c_dc82b40f9837b551">EVoR</map:version>
    </map:versions>
    <!-- Languages that are written as words (ISO 639-3). -->
    <map:languages>
      <map:language code="eng">english</map:language>
      <map:language code="fra">french</map:language>
      <map:language code="deu">german</map:language>
      <map:language code="ita">italian</map:language>
      <map:language code="por">portuguese</map:language>
      <map:language code="spa">spanish</map:language>
    </map:languages>
  </xsl:variable>
  <xsl:variable name="maps" select="exsl:node-set($coarmaps)"/>
  <xsl:variable name="upper" select="'ABCDEFGHIJKLMNOPQRSTUVWXYZ'"/>
  <xsl:variable name="lower" select="'abcdefghijklmnopqrstuvwxyz'"/>
  <xsl:variable name="coar" select="'http://purl.org/coar/'"/>

  <xsl:variable name="others" select="/doc:metadata/doc:element[@name='others']"/>
  <xsl:variable name="status" select="$others/doc:element[@name='access-status']/doc:field[@name='value']"/>
  <xsl:variable name="embargo" select="$others/doc:element[@name='access-status']/doc:field[@name='embargo']"/>
  <xsl:variable name="files" select="/doc:metadata/doc:element[@name='bundles']/doc:element[doc:field = 'ORIGINAL']//doc:element[@name='bitstream']"/>
  <xsl:variable name="typename" select="translate(key('element', 'dc.type')[1], $upper, $lower)"/>
  <xsl:variable name="type" select="$maps/map:types/map:type[. = $typename or (. = 'other' and not($maps/map:types/map:type = $typename))]"/>
  <xsl:variable name="versionname" select="translate((key('field', 'oaire.version') | key('field', 'rioxxterms.version'))[1], $upper, $lower)"/>
  <xsl:variable name="version" select="$maps/map:versions/map:version[translate(., $upper, $lower) = $versionname]"/>
  <xsl:variable name="creators" select="key('field', 'dc.contributor.author') | key('element', 'dc.creator')"/>
  <xsl:variable name="license" select="(key('field', 'dc.rights.uri') | key('field', 'dc.rights.license') | key('field', 'dc.rights') | key('field', 'dcterms.license'))[starts-with(., 'http')][1]"/>

  <!-- A date without its time. -->
  <xsl:template name="day">
    <xsl:param name="of" select="."/>
    <xsl:value-of select="substring-before(concat(normalize-space($of), 'T'), 'T')"/>
  </xsl:template>

  <!-- A language as ISO 639 has it; nothing if it is unknown. -->
  <xsl:template name="iso639">
    <xsl:variable name="name" select="translate(normalize-space(), $upper, $lower)"/>
    <xsl:variable name="code" select="substring-before(concat(translate($name, '_', '-'), '-'), '-')"/>
    <xsl:choose>
      <xsl:when test="string-length($code) &gt; 1 and string-length($code) &lt; 4 and not(translate($code, $lower, ''))"><xsl:value-of select="$code"/></xsl:when>
      <xsl:otherwise><xsl:value-of select="$maps/map:languages/map:language[. = $name]/@code"/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <!-- An authority that is, or ends with, an ORCID: four groups of four, of which the last may end with an X; or that of a person. -->
  <xsl:template name="orcid">
    <xsl:variable name="authority" select="following-sibling::doc:field[1][@name='authority']"/>
    <xsl:variable name="known" select="($authority | key('authority', $authority[starts-with(., 'virtual::')])[../../@name='orcid'])[last()]"/>
    <xsl:variable name="id" select="substring($known, string-length($known) - 18)"/>
    <xsl:if test="translate($id, '123456789X', '0000000000') = '0000-0000-0000-0000'"><xsl:value-of select="$id"/></xsl:if>
  </xsl:template>
</xsl:stylesheet>
